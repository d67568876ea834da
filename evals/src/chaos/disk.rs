//! The disk under a store: one that is full, and what a power loss leaves of one.
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::script::Chance;
use crate::Fault;

/// What may be in a data directory after a run.
pub(super) const STORE_FILES: [&str; 4] = ["ibid.db", "ibid.db-wal", "ibid.db-shm", "locks"];

const FILLER: &str = "filler";

/// A file system in memory with room for a store, and not much more. Unmounted when dropped.
pub(super) struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts it at `dir`, which is created.
    pub(super) fn mount(dir: &Path) -> Result<SmallDisk, Fault> {
        fs::create_dir_all(dir)?;
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=24m,mode=700", "chaos"])
            .arg(dir)
            .output()?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into());
        }
        Ok(SmallDisk(dir.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a store that is being closed may still have its files open.
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}

/// Whether this process may mount file systems that vanish with it.
pub(super) fn may_mount() -> bool {
    Command::new("unshare")
        .args(["--mount", "mount", "-t", "tmpfs", "chaos"])
        .arg(std::env::temp_dir())
        .output()
        .is_ok_and(|done| done.status.success())
}

/// Writes into `dir` until nothing more can be written.
pub(super) fn fill(dir: &Path) {
    let Ok(mut file) = fs::File::options().create(true).append(true).open(dir.join(FILLER)) else {
        return;
    };
    for size in [1 << 20, 1 << 12, 1] {
        let zeros = vec![0; size];
        while file.write_all(&zeros).is_ok() {}
    }
}

/// Makes room again.
pub(super) fn free(dir: &Path) {
    fs::remove_file(dir.join(FILLER)).ok();
}

/// A connection to the store of `data`, if there is one.
pub(super) async fn connect(data: &Path) -> Result<SqliteConnection, Fault> {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(data.join("ibid.db"));
    Ok(options.connect().await?)
}

/// Keeps every writer out of the store while `meanwhile` lasts.
pub(super) async fn locked<T>(
    data: &Path,
    meanwhile: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    let mut store = connect(data).await?;
    sqlx::query("begin immediate").execute(&mut store).await?;
    let done = meanwhile.await;
    sqlx::query("rollback").execute(&mut store).await?;
    store.close().await?;
    done
}

/// What a disk holds after the power failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    /// All that was synced is there; of the write that was under way, any part.
    Unsynced,
    /// The log ends at any byte, also before what was synced.
    Synced,
}

/// Copies the store of `data`, which may be open, to `into` as a power loss now would leave it.
pub(super) async fn power_loss(
    data: &Path,
    into: &Path,
    lost: Lost,
    chance: &mut Chance,
) -> Result<(), Fault> {
    locked(data, async { copy_after_power_loss(data, into, lost, chance) }).await
}

/// Copies the store of `data`, to which nobody writes, to `into` as a power loss would leave it.
pub(super) fn copy_after_power_loss(
    data: &Path,
    into: &Path,
    lost: Lost,
    chance: &mut Chance,
) -> Result<(), Fault> {
    fs::create_dir_all(into)?;
    let (db, log) = ("ibid.db", "ibid.db-wal");
    fs::copy(data.join(db), into.join(db))?;
    let mut bytes = fs::read(data.join(log)).unwrap_or_default();
    damage(&mut bytes, lost, chance);
    fs::write(into.join(log), bytes)?;
    Ok(())
}

/// Cuts the log of a store, or adds a part of a write that never came to its end.
fn damage(log: &mut Vec<u8>, lost: Lost, chance: &mut Chance) {
    let length = u32::try_from(log.len()).unwrap_or(u32::MAX);
    match lost {
        Lost::Synced => log.truncate(chance.below(length.max(1)) as usize),
        Lost::Unsynced => {
            // A frame of the log is a header of 24 bytes and a page; it counts once its commit is whole.
            let torn = chance.below(3 * 4_120) as usize;
            log.extend((0..torn).map(|_| chance.next() as u8));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_loss_keeps_what_was_synced_and_a_lying_disk_does_not() {
        let whole: Vec<u8> = (0..200).collect();
        let (mut torn, mut cut) = (whole.clone(), whole.clone());
        damage(&mut torn, Lost::Unsynced, &mut Chance(1));
        damage(&mut cut, Lost::Synced, &mut Chance(1));
        assert!(torn.starts_with(&whole) && torn.len() > whole.len());
        assert!(whole.starts_with(&cut) && cut.len() < whole.len());
    }
}
