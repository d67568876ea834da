//! Pages that look back at many runs, or at the server itself.
use std::sync::Arc;

use super::{Answer, Html, Visitor};
use crate::app::changes;
use crate::surfaces::export::escape::line;
use crate::surfaces::health::{Finding, State, changed, inside, outside};
use crate::surfaces::http::extract::{Mine, Place};
use crate::surfaces::http::fault::Fault;
use crate::surfaces::view::afterwards::{CostsPage, DiffPage, DoctorPage, Looked};
use crate::surfaces::view::page;

/// `GET /diff/{a}/{b}`.
pub(super) async fn diff(visitor: Visitor, Place((a, b)): Place<(String, String)>) -> Answer<Html> {
    let before = Mine::named(&visitor.server, &visitor.service, &a)
        .await?
        .report()
        .await?;
    let after = Mine::named(&visitor.server, &visitor.service, &b)
        .await?
        .report()
        .await?;
    let found = changes(&before.1, &after.1)?;
    let shell = visitor.shell("What changed");
    Ok(Html(page(&DiffPage::of(shell.narrow(), &found))?))
}

/// `GET /costs`: what the caller's runs come to.
pub(super) async fn costs(visitor: Visitor) -> Answer<Html> {
    let service = &visitor.service;
    let (tally, rows) = (service.tally().await?, service.rows().await?);
    let shell = visitor.shell("Costs").at("costs");
    Ok(Html(page(&CostsPage::of(shell, &tally, &rows))?))
}

/// `GET /doctor`: what can be seen from here.
pub(super) async fn doctor(visitor: Visitor) -> Answer<Html> {
    examined(&visitor, false).await
}

/// `POST /doctor`: the same, and each model, engine and reader that is set up asked one small thing.
pub(super) async fn doctor_outside(visitor: Visitor) -> Answer<Html> {
    examined(&visitor, true).await
}

async fn examined(visitor: &Visitor, everybody: bool) -> Answer<Html> {
    // What the server is made of is the operator's affair.
    let Some(operator) = visitor.service.operator() else {
        return Err(Fault::missing("page"));
    };
    let mut loaded = visitor.service.loaded(&[])?;
    let settings = changed(&loaded);
    // Those that the server was started with, wherever they were named.
    loaded.settings.folders = operator.folders().to_vec();
    let loaded = Arc::new(loaded);
    let mut found = inside(&loaded).await;
    if everybody {
        found.extend(outside(&loaded.settings).await);
    }
    Ok(Html(page(&DoctorPage {
        shell: visitor.shell("Doctor").at("doctor").narrow(),
        looked: found.iter().map(looked).collect(),
        outside: everybody,
        settings: settings
            .iter()
            .map(|it| (line(&it.0), line(&it.1), line(&it.2)))
            .collect(),
    })?))
}

fn looked(it: &Finding) -> Looked {
    Looked {
        name: it.name.to_owned(),
        state: match it.state {
            State::Good => ("covered", "fine"),
            State::Doubtful => ("partial", "may do"),
            State::Bad => ("conflict", "amiss"),
        },
        found: line(&it.found),
        fix: it.fix.as_deref().map(line),
    }
}
