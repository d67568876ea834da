//! Bodies of pages in an object store: S3, Google Cloud Storage, Azure, or a directory.
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::limit::LimitStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, ObjectStoreScheme, PutPayload, RetryConfig};
use tokio::time::timeout;
use url::Url;

use ibid_core::files::private_dir;
use ibid_core::ports::PageBodies;
use ibid_core::{Error, ErrorKind, Result};

/// Calls in flight.
const CONCURRENCY: usize = 32;

/// How long a call may take, with the wait for its turn and all its attempts. A single attempt may take 30 s, or what the
/// service's `…_TIMEOUT` says.
const DEADLINE: Duration = Duration::from_secs(60);

/// How long a list may take.
const LIST_DEADLINE: Duration = Duration::from_secs(600);

/// How often a failed request is repeated, and for how long.
const RETRIES: usize = 5;
const RETRY_TIME: Duration = Duration::from_secs(30);

/// The longest message of the service that an error shows, characters.
const MAX_MESSAGE: usize = 300;

/// The bodies of pages under one URL.
pub struct ObjectBodies {
    store: LimitStore<Arc<dyn ObjectStore>>,
    prefix: Path,
    location: String,
    /// The first letters of the variables with its credentials; none for a directory.
    variables: Option<&'static str>,
}

impl ObjectBodies {
    /// Opens the object store at `url`: `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix` or
    /// `file:///directory`. Credentials, endpoint and encryption are those that `variables` set, with the names that the
    /// service's own tools use: `AWS_…`, `GOOGLE_…`, `AZURE_…`. Sends nothing.
    ///
    /// # Errors
    /// `Setup` for any other URL, a value of a variable that is not allowed, or a directory that cannot be created.
    pub fn open(url: &str, variables: &[(&str, &str)]) -> Result<ObjectBodies> {
        let parsed = Url::parse(url).map_err(|cause| invalid_url().with_source(cause))?;
        if parsed.password().is_some() || parsed.query().is_some() {
            return Err(invalid_url().with_source("it must not contain keys or parameters"));
        }
        let (scheme, prefix) = ObjectStoreScheme::parse(&parsed)
            .map_err(|_| invalid_url().with_source("unknown kind"))?;
        let unusable = |cause: object_store::Error| invalid_url().with_source(brief(&cause));
        // The HTTP clients that the builders make use the provider of the process. It may be installed already.
        let _already = rustls::crypto::ring::default_provider().install_default();
        // The builders have no trait in common.
        macro_rules! build {
            ($builder:ty, $letters:literal) => {{
                let retry = RetryConfig {
                    max_retries: RETRIES,
                    retry_timeout: RETRY_TIME,
                    ..RetryConfig::default()
                };
                let mut builder = <$builder>::new().with_url(url).with_retry(retry);
                for (name, value) in variables.iter().filter(|pair| pair.0.starts_with($letters)) {
                    if let Ok(key) = name.to_ascii_lowercase().parse() {
                        builder = builder.with_config(key, *value);
                    }
                }
                let store: Arc<dyn ObjectStore> = Arc::new(builder.build().map_err(unusable)?);
                (store, prefix, Some($letters))
            }};
        }
        let (store, prefix, letters) = match scheme {
            ObjectStoreScheme::AmazonS3 => build!(AmazonS3Builder, "AWS_"),
            ObjectStoreScheme::GoogleCloudStorage => build!(GoogleCloudStorageBuilder, "GOOGLE_"),
            ObjectStoreScheme::MicrosoftAzure => build!(MicrosoftAzureBuilder, "AZURE_"),
            ObjectStoreScheme::Local => (open_directory(&parsed)?, Path::default(), None),
            _ => return Err(invalid_url().with_source("unknown kind")),
        };
        Ok(ObjectBodies {
            store: LimitStore::new(store, CONCURRENCY),
            prefix,
            location: url.to_owned(),
            variables: letters,
        })
    }

    fn path(&self, key: &str) -> Result<Path> {
        Path::parse(format!("{}/{key}", self.prefix)).map_err(|cause| {
            Error::new(ErrorKind::Internal, format!("naming the object {key}")).with_source(cause)
        })
    }

    async fn within<T>(
        &self,
        limit: Duration,
        doing: &str,
        call: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T> {
        match timeout(limit, call).await {
            Ok(outcome) => outcome.map_err(|cause| self.fault(doing, &cause)),
            Err(_) => Err(Error::new(ErrorKind::Transient, format!("{doing} {}", self.location))
                .with_source(format!("no answer in {} s", limit.as_secs()))
                .with_hint("try again later; `ibid doctor` tests the object store")),
        }
    }

    fn fault(&self, doing: &str, cause: &object_store::Error) -> Error {
        let (kind, hint) = match self.variables {
            None => (ErrorKind::Setup, "make the directory of `pages.url` writable".to_owned()),
            Some(letters) if is_refusal(cause) => (
                ErrorKind::Setup,
                format!("check `pages.url` and the variables {letters}…, then run `ibid doctor`"),
            ),
            Some(letters) => (
                ErrorKind::Transient,
                format!(
                    "try again later, or check the variables {letters}… (an address that begins with http:// needs \
                     {letters}ALLOW_HTTP=true)"
                ),
            ),
        };
        Error::new(kind, format!("{doing} {}", self.location))
            .with_source(brief(cause))
            .with_hint(hint)
    }
}

#[async_trait]
impl PageBodies for ObjectBodies {
    async fn put(&self, key: &str, body: String) -> Result<()> {
        let path = self.path(key)?;
        let call = self.store.put(&path, PutPayload::from(body));
        self.within(DEADLINE, "writing to", call).await.map(drop)
    }

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let path = self.path(key)?;
        let call = async {
            match self.store.get(&path).await {
                Ok(object) => object.bytes().await.map(|body| Some(body.to_vec())),
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(cause) => Err(cause),
            }
        };
        self.within(DEADLINE, "reading", call).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        let path = self.path(key)?;
        let call = async {
            match self.store.delete(&path).await {
                Err(object_store::Error::NotFound { .. }) => Ok(()),
                outcome => outcome,
            }
        };
        self.within(DEADLINE, "deleting from", call).await
    }

    async fn list(&self, folder: &str, before: jiff::Timestamp) -> Result<Vec<String>> {
        let path = self.path(folder)?;
        let before = before.as_millisecond();
        let old = self.store.list(Some(&path)).try_filter_map(async |object| {
            let is_old = object.last_modified.timestamp_millis() < before;
            let key = object.location.prefix_match(&self.prefix).filter(|_| is_old);
            Ok(key.map(|parts| {
                parts.map(|part| part.as_ref().to_owned()).collect::<Vec<_>>().join("/")
            }))
        });
        self.within(LIST_DEADLINE, "listing", old.try_collect()).await
    }

    fn location(&self) -> String {
        self.location.clone()
    }
}

fn invalid_url() -> Error {
    Error::new(ErrorKind::Setup, "opening `pages.url`").with_hint(
        "write it as s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or file:///directory, with credentials in \
         the environment",
    )
}

fn open_directory(url: &Url) -> Result<Arc<dyn ObjectStore>> {
    let dir = url.to_file_path().map_err(|()| invalid_url())?;
    let refused = || {
        Error::new(
            ErrorKind::Setup,
            format!("creating {}, the directory of `pages.url`", dir.display()),
        )
        .with_hint("make it writable, or set `pages.url` to another directory")
    };
    // Pages may be private.
    private_dir(&dir).map_err(|cause| refused().with_source(cause))?;
    let store = LocalFileSystem::new_with_prefix(&dir)
        .map_err(|cause| refused().with_source(brief(&cause)))?;
    Ok(Arc::new(store.with_fsync(true)))
}

/// Whether another attempt would be refused in the same way.
fn is_refusal(cause: &object_store::Error) -> bool {
    use object_store::Error::{
        InvalidPath, NotFound, NotImplemented, NotSupported, PermissionDenied, Unauthenticated,
    };
    matches!(
        cause,
        NotFound { .. }
            | PermissionDenied { .. }
            | Unauthenticated { .. }
            | InvalidPath { .. }
            | NotSupported { .. }
            | NotImplemented { .. }
    )
}

/// The message of `cause` on one line. Of an answer in XML only its code and message: the rest may contain the id of a key.
fn brief(cause: &object_store::Error) -> String {
    let text = cause.to_string();
    let tag = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>")).map(|parts| parts.0)
    };
    let message = match (tag("Code"), tag("Message")) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        _ => text.split("<?xml").next().unwrap_or_default().to_owned(),
    };
    let words: Vec<&str> = message.split_whitespace().collect();
    words.join(" ").chars().take(MAX_MESSAGE).collect()
}
