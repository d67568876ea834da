//! The texts of cited pages: those that Ibid has stored, JSON lines, or documents in a folder.
use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use ibid_extract::{ExtractLimits, ReadItem, read_file};
use ibid_research::audit::{CitedSource, page_key};
use serde_json::Value;
use sqlx::{ConnectOptions as _, Row as _, SqliteConnection};

use crate::Fault;
use crate::judged::tasks::json_lines;

/// Texts by the key of their address.
#[derive(Debug, Default)]
pub(crate) struct PageTexts(BTreeMap<String, String>);

impl PageTexts {
    /// Reads `path`: the database of a store (`ibid.db`), a file of JSON lines with `url` and `text`, or a folder of both and of documents.
    pub(crate) async fn read(path: &Path) -> Result<PageTexts, Fault> {
        let mut pages = PageTexts::default();
        pages.read_path(path).await?;
        match pages.0.is_empty() {
            true => Err(format!("--pages {}: there is no text of a page", path.display()).into()),
            false => Ok(pages),
        }
    }

    async fn read_path(&mut self, path: &Path) -> Result<(), Fault> {
        if path.is_dir() {
            let fault = |error: std::io::Error| format!("--pages {}: {error}", path.display());
            let mut found = Vec::new();
            for entry in fs::read_dir(path).map_err(fault)? {
                found.push(entry.map_err(fault)?.path());
            }
            found.sort();
            for path in found {
                Box::pin(self.read_path(&path)).await?;
            }
            return Ok(());
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("db") => self.read_store(path).await,
            Some("jsonl") => self.read_lines(path),
            _ => self.read_document(path),
        }
    }

    /// Every page of a store.
    async fn read_store(&mut self, path: &Path) -> Result<(), Fault> {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).read_only(true);
        let fault = |error: sqlx::Error| format!("--pages {}: {error}", path.display());
        let mut store: SqliteConnection = options.connect().await.map_err(fault)?;
        let rows =
            sqlx::query("select body from pages").fetch_all(&mut store).await.map_err(fault)?;
        for row in rows {
            let body: String = row.try_get(0).map_err(fault)?;
            let page: Value = serde_json::from_str(&body).map_err(|error| {
                format!("--pages {}: a page is not JSON: {error}", path.display())
            })?;
            for field in ["url", "file"] {
                self.add(page[field].as_str(), page["text"].as_str());
            }
        }
        Ok(())
    }

    fn read_lines(&mut self, path: &Path) -> Result<(), Fault> {
        for (nth, row) in json_lines(path)? {
            let row =
                row.map_err(|why| format!("--pages {}, line {nth}: {why}", path.display()))?;
            self.add(row["url"].as_str(), row["text"].as_str());
        }
        Ok(())
    }

    /// A document; one that cannot be read has no text, and its statements are counted as such.
    fn read_document(&mut self, path: &Path) -> Result<(), Fault> {
        let mut texts: Vec<String> = Vec::new();
        read_file(path, &ExtractLimits::default(), &mut |item| {
            if let ReadItem::Draft(draft) = item {
                texts.extend(draft.blocks.iter().map(|block| block.text.clone()));
            }
            ControlFlow::Continue(())
        })?;
        self.add(path.to_str(), Some(&texts.join("\n")));
        Ok(())
    }

    fn add(&mut self, address: Option<&str>, text: Option<&str>) {
        if let (Some(address), Some(text)) = (address, text)
            && !text.trim().is_empty()
        {
            self.0.insert(address_key(address), text.to_owned());
        }
    }

    /// The text of a page by its key.
    pub(crate) fn by_key(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The text of a cited source with its key, if it is here.
    pub(crate) fn find(&self, source: &CitedSource) -> Option<(&str, &str)> {
        let keys = [&source.address, &source.path].into_iter().flatten().map(|it| address_key(it));
        keys.filter_map(|key| self.0.get_key_value(&key))
            .map(|(key, text)| (key.as_str(), text.as_str()))
            .next()
    }
}

/// A key that all addresses of a page share; of a local file, its name.
fn address_key(address: &str) -> String {
    page_key(address).unwrap_or_else(|| {
        let path = address.split('#').next().unwrap_or_default();
        path.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase()
    })
}
