//! A database that is away for longer than a writer waits for it.
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ibid::app::{App, AppComponents};
use ibid_core::ErrorKind;
use ibid_core::domain::RunId;
use ibid_core::record::RunStatus;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::database;
use crate::stand_in::{FakePages, app_on, parts, question};

/// Stands before the server, which cannot be reached while `away` is true.
async fn through(server: SocketAddr, away: watch::Receiver<bool>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut away = away.clone();
            tokio::spawn(async move {
                let mut server = TcpStream::connect(server).await.unwrap();
                tokio::select! {
                    biased;
                    _ = away.wait_for(|away| *away) => {}
                    _ = copy_bidirectional(&mut client, &mut server) => {}
                }
            });
        }
    });
    address
}

/// An app whose method loses the database, and gives up when the database is about to come back.
fn app_that_loses(app: &App, away: watch::Sender<bool>) -> App {
    let away = Arc::new(away);
    let components = AppComponents {
        research: Arc::new(move |_, log, _, _| {
            let away = Arc::clone(&away);
            Box::pin(async move {
                log.emit(super::note(1));
                away.send_replace(true);
                let fault = log.flush().await.unwrap_err();
                away.send_replace(false);
                Err(fault)
            })
        }),
        ..parts(&Arc::new(FakePages::default()))
    };
    App::with_components(app.settings().clone(), components)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_run_does_not_fail_because_the_database_was_away_for_long() {
    let url = url::Url::parse(&database().await).unwrap();
    let (away, is_away) = watch::channel(false);
    let server = format!("127.0.0.1:{}", url.port().unwrap()).parse().unwrap();
    let mut proxied = url.clone();
    proxied.set_port(Some(through(server, is_away).await.port())).unwrap();
    let (dir, shelf) = (tempfile::tempdir().unwrap(), Arc::new(FakePages::default()));
    let run = {
        let app = app_that_loses(&app_on(dir.path(), &shelf, proxied.as_str()), away);
        let running = app.start(question("cork")).await.unwrap();
        let run: RunId = running.id.clone();
        let ended = tokio::time::timeout(Duration::from_secs(120), running.wait()).await.unwrap();
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::Transient);
        run
    };
    let app = app_on(dir.path(), &shelf, url.as_str());
    assert!(!app.row(&run).await.unwrap().status.ended());
    let resumed = async {
        loop {
            match app.resume(&run).await {
                Ok(running) => return running.wait().await,
                // The lock of the lost session is released by the server.
                Err(fault) if fault.kind() == ErrorKind::Transient => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                Err(fault) => return Err(fault),
            }
        }
    };
    let resumed = tokio::time::timeout(Duration::from_secs(60), resumed).await.unwrap().unwrap();
    assert!(resumed.status.ended() && resumed.status != RunStatus::Failed, "{:?}", resumed.status);
}
