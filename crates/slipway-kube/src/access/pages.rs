//! Lists, page by page: no answer is as large as a cluster.
//!
//! 500 objects a page are what the servers' own clients ask for. For the garden it is a compromise: 10,000 Shoots
//! are 20 requests at a start, and a page is some 50 MiB where Shoots are large. A page that is larger than may be
//! read is asked for again in halves.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{Access, Ask, Error, transport::PAGE_MAX};

/// Objects on one page.
const PAGE: usize = 500;
/// Pages of one list: half a million objects. A server that always has one more has no list.
const PAGES_MAX: usize = 1_000;
/// A list that began anew so often is changing faster than it can be read.
const RESTARTS: usize = 3;

#[derive(Deserialize)]
struct Page<'a> {
    metadata: Heading,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Heading {
    #[serde(default)]
    resource_version: String,
    #[serde(default, rename = "continue")]
    more: Option<String>,
}

/// Whether pages wait for the budget. Those of the caches do not: without them nothing can be done at all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Paced {
    Yes,
    No,
}

impl Access {
    /// All objects of a list. One whose continuation is forgotten begins anew; one that is larger than may be read
    /// fails, because clusters are in the hands of others.
    pub async fn list<T: DeserializeOwned>(&self, ask: Ask) -> Result<Vec<T>, Error> {
        let mut restarts = 0;
        loop {
            let (mut all, mut bytes) = (Vec::new(), 0);
            let listed = self.pages(&ask, Paced::Yes, |item| {
                bytes += item.get().len();
                if bytes > PAGE_MAX {
                    return Err(Error::too_large(PAGE_MAX));
                }
                all.push(parsed(item)?);
                Ok(())
            });
            match listed.await {
                Err(error) if error.is_expired() && restarts < RESTARTS => restarts += 1,
                listed => return listed.map(|_| all),
            }
        }
    }

    /// Every object of a list, as it comes; answers the version of the list.
    pub(super) async fn pages(
        &self,
        ask: &Ask,
        paced: Paced,
        mut each: impl FnMut(&RawValue) -> Result<(), Error>,
    ) -> Result<String, Error> {
        let (mut more, mut size) = (None::<String>, PAGE);
        for _ in 0..PAGES_MAX {
            let mut page = ask.clone().with("limit", size.to_string());
            if let Some(more) = &more {
                page = page.with("continue", more.clone());
            }
            let read = match paced {
                Paced::Yes => self.raw(&page).await,
                Paced::No => self.unbudgeted(&page).await,
            };
            let bytes = match read {
                Err(error) if error.is_too_large() && size > 1 => {
                    size /= 2;
                    continue;
                }
                read => read?,
            };
            let page: Page<'_> = serde_json::from_slice(&bytes).map_err(|error| Error::garbage(&error.to_string()))?;
            for item in page.items.unwrap_or_default() {
                each(item)?;
            }
            match page.metadata.more.filter(|more| !more.is_empty()) {
                Some(next) => more = Some(next),
                None => return Ok(page.metadata.resource_version),
            }
        }
        Err(Error::garbage("the list has no end"))
    }
}

pub(super) fn parsed<T: DeserializeOwned>(raw: &RawValue) -> Result<T, Error> {
    serde_json::from_str(raw.get()).map_err(|error| Error::garbage(&error.to_string()))
}
