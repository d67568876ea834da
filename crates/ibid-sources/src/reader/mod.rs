//! Readers of web pages: the embedded one, servers that read pages, a browser, and the text that an engine returned.
//!
//! The embedded reader fetches through the SSRF guard. When it cannot read a page, the next reader tries. The last resorts
//! are a cached page, when its server is down, and the text of the engine itself: an abstract or the text of the page.
mod addresses;
mod chromium;
mod crawl4ai;
mod draft_cache;
mod embedded;
mod firecrawl;
mod hit_text;
mod jina;
mod open_access;
mod read_error;
mod remote;
mod scrape_api;
mod soft_404;
mod stale;
mod steel;

pub use chromium::Chromium;
pub use draft_cache::DraftCache;
pub use embedded::EmbeddedReader;
pub use hit_text::HitTextReader;
pub(crate) use hit_text::text_blocks;
pub use open_access::OpenAccessReader;
pub use read_error::read_error;
pub use remote::{ReaderInfo, RemoteReader, SERVERS};
pub use stale::StalePageReader;
