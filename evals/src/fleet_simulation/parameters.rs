//! What a fleet is made of: each figure, and where it comes from.

/// Calls that a run makes at the same time; the next stage begins when all of them have ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stage {
    /// Calls to a model.
    pub(super) models: usize,
    /// Searches.
    pub(super) searches: usize,
    /// Pages that are read.
    pub(super) reads: usize,
}

const fn stage(models: usize, searches: usize, reads: usize) -> Stage {
    Stage { models, searches, reads }
}

/// A standard run: 25 calls to a model, 12 searches and 40 reads. The totals are those of the issue. How they divide into
/// stages is assumed, so that a run alone takes the 39 s that were measured in the lab.
const STANDARD_RUN: [Stage; 9] = [
    stage(1, 2, 0),
    stage(0, 4, 0),
    stage(0, 0, 14),
    stage(6, 0, 0),
    stage(1, 6, 0),
    stage(0, 0, 13),
    stage(6, 0, 13),
    stage(7, 0, 0),
    stage(4, 0, 0),
];

/// All figures of a simulation. "Measured" and "code" name where a figure was found; the others are assumed.
#[derive(Debug, Clone)]
pub(super) struct Parameters {
    /// Calls of a run by stage. Totals: issue; the lab counts 20, 12 and 29 for its six questions (`evals/README.md`). Order:
    /// assumed.
    pub(super) stages: Vec<Stage>,
    /// Mean seconds of a call to a model. Assumed (issue).
    pub(super) model_seconds: f64,
    /// Deviation of the logarithm of these seconds. Assumed.
    pub(super) model_sigma: f64,
    /// Mean seconds of a search. Assumed (issue).
    pub(super) search_seconds: f64,
    /// Mean seconds of a read. Assumed (issue).
    pub(super) read_seconds: f64,
    /// Deviation of the logarithm of the seconds of a search or a read. Assumed.
    pub(super) web_sigma: f64,
    /// Processor time of a run, seconds. Measured: 2.6 to 2.9 s, standard effort in the lab at 540d219a (`evals/README.md`).
    pub(super) cpu_seconds: f64,
    /// Tokens of a run, input and output. Measured: 22,957 and 4,432, standard effort in the lab at 6c99224a (`evals/README.md`).
    pub(super) tokens_per_run: f64,
    /// Pages of a run that are stored. Issue; the lab measured 29.
    pub(super) stored_pages: f64,
    /// Bytes of the text of a page. Assumed (issue).
    pub(super) page_bytes: f64,

    /// Runs that a server works on at once. Assumed; the default of `serve.concurrency` is 4 (code: `config/table.rs`).
    pub(super) slots: usize,
    /// Cores of a server. Assumed.
    pub(super) cores: usize,
    /// Searches and reads of a server at once. Code: the default of `concurrency` (`config/table.rs`).
    pub(super) web_places: usize,

    /// Small commits a second of the PostgreSQL primary. Assumed, for 32 cores.
    pub(super) postgres_commits: f64,
    /// Seconds of a transaction without queueing: five round trips and a sync. Assumed.
    pub(super) postgres_seconds: f64,
    /// A read of a row by its key, as a part of a commit. Assumed: a published table of pgbench has 5 to 6 reads for a
    /// transaction of five statements and a sync, and a commit here has as many.
    pub(super) read_cost: f64,
    /// A row that a query walks over, or a notification that a session is sent, as a part of a commit: 5 µs of a core. Assumed.
    pub(super) row_cost: f64,
    /// Commits of a journaled call. Code: `begin_call` and `finish_call`; fewer where calls of one run share a commit.
    pub(super) commits_per_call: f64,
    /// Commits of the acceptance, the start and the end of a run, and of the one decision that is journaled. Assumed.
    pub(super) commits_per_run: f64,
    /// Commits of a flush, of events and then of traffic. Code: `heartbeat` in `run_worker.rs`.
    pub(super) commits_per_flush: f64,
    /// Seconds between flushes of a run. Code: `HEARTBEAT_INTERVAL` in `run_worker.rs`.
    pub(super) flush_interval: f64,
    /// Streams that follow a run; each reads its new events once per flush. Assumed.
    pub(super) followers: f64,
    /// Seconds between looks of an active run at its commands. Code: `HEARTBEAT_INTERVAL` in `run_worker.rs`.
    pub(super) poll_interval: f64,
    /// Seconds between notifications of a server. Code: `MIN_INTERVAL` in `wakeups.rs`.
    pub(super) notify_interval: f64,
    /// Seconds between looks of a server for runs without one. Code: 8 to 11 s (`queue.rs`); the mean.
    pub(super) look_interval: f64,
    /// Seconds between signs of life of a server. Code: `KEEPALIVE_INTERVAL` in `locks.rs`.
    pub(super) alive_interval: f64,
    /// Seconds between renewals of a server's share of a key while it calls. Code: `RENEW_INTERVAL` in `call_places.rs`.
    pub(super) renew_interval: f64,
    /// The same while calls wait. Code: `WAITING_INTERVAL` in `call_places.rs`.
    pub(super) waiting_renew_interval: f64,
    /// Seconds that a renewal holds the lock of the key, besides its rows: four round trips and a sync. Assumed.
    pub(super) share_lock_seconds: f64,
    /// Seconds for each row, one per server that calls: read, sent and divided. Assumed.
    pub(super) share_row_seconds: f64,
    /// Seconds after which a server that could not renew starts no call. Code: `MAX_AGE` in `call_places.rs`.
    pub(super) share_max_age: f64,

    /// Calls at once that the provider's contract allows for the key. Assumed; the default of `model_concurrency` is 32 (code).
    pub(super) key_calls: usize,
    /// Tokens a minute that it allows, if it limits them. Assumed.
    pub(super) key_tokens_a_minute: Option<f64>,

    /// State transitions a second of a Temporal cluster on PostgreSQL. Assumed (issue).
    pub(super) temporal_transitions: f64,
    /// State transitions of a run with one activity. Assumed (issue).
    pub(super) transitions_per_run: f64,
    /// Seconds from the start of a workflow to its place in the task queue. Assumed.
    pub(super) temporal_seconds: f64,
    /// Seconds between heartbeats of an activity. Design (`fleet.md`).
    pub(super) activity_heartbeat: f64,

    /// Puts a second of the object store for one prefix. S3's documentation.
    pub(super) object_puts: f64,
    /// Seconds of a put. Assumed.
    pub(super) object_seconds: f64,

    /// How much busier the peak hour is than the mean of the day. Assumed (issue).
    pub(super) peak_factor: f64,
    /// Days that pages stay. Assumed; the default of `serve.retention_days` is for ever (code).
    pub(super) retention_days: f64,
    /// What things cost. Assumed (issue).
    pub(super) prices: Prices,
}

/// US dollars. All are assumed (issue).
#[derive(Debug, Clone)]
pub(super) struct Prices {
    /// A server with four cores, a month.
    pub(super) server: f64,
    /// A PostgreSQL primary with 32 cores, a month.
    pub(super) postgres: f64,
    /// Three nodes of Temporal, a month.
    pub(super) temporal: f64,
    /// A TB in the object store, a month.
    pub(super) stored_tb: f64,
    /// A million puts.
    pub(super) million_puts: f64,
    /// The calls to models of a run.
    pub(super) models_per_run: f64,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            stages: STANDARD_RUN.to_vec(),
            model_seconds: 4.0,
            model_sigma: 0.3,
            search_seconds: 0.8,
            read_seconds: 1.2,
            web_sigma: 0.6,
            cpu_seconds: 2.6,
            tokens_per_run: 27_389.0,
            stored_pages: 30.0,
            page_bytes: 40_000.0,
            slots: 16,
            cores: 4,
            web_places: 16,
            postgres_commits: 10_000.0,
            postgres_seconds: 0.0025,
            read_cost: 0.2,
            row_cost: 0.0015,
            commits_per_call: 2.0,
            commits_per_run: 8.0,
            commits_per_flush: 2.0,
            flush_interval: 0.2,
            followers: 1.0,
            poll_interval: 0.2,
            notify_interval: 0.04,
            look_interval: 9.5,
            alive_interval: 1.0,
            renew_interval: 1.0,
            waiting_renew_interval: 0.05,
            share_lock_seconds: 0.002,
            share_row_seconds: 0.000_002,
            share_max_age: 8.0,
            key_calls: 500,
            key_tokens_a_minute: None,
            temporal_transitions: 4_000.0,
            transitions_per_run: 3.0,
            temporal_seconds: 0.05,
            activity_heartbeat: 5.0,
            object_puts: 3_500.0,
            object_seconds: 0.05,
            peak_factor: 2.0,
            retention_days: 30.0,
            prices: Prices {
                server: 120.0,
                postgres: 2_400.0,
                temporal: 750.0,
                stored_tb: 23.0,
                million_puts: 5.0,
                models_per_run: 0.05,
            },
        }
    }
}

impl Parameters {
    /// Calls to models, searches and reads of a run.
    pub(super) fn calls(&self) -> (usize, usize, usize) {
        let sum = |of: fn(&Stage) -> usize| self.stages.iter().map(of).sum();
        (sum(|it| it.models), sum(|it| it.searches), sum(|it| it.reads))
    }

    /// All calls of a run.
    pub(super) fn calls_per_run(&self) -> usize {
        let (models, searches, reads) = self.calls();
        models + searches + reads
    }

    /// Name, value and origin of the figures, for the report.
    #[rustfmt::skip]
    pub(super) fn rows(&self) -> Vec<(&'static str, String, &'static str)> {
        let (models, searches, reads) = self.calls();
        let prices = &self.prices;
        let tokens = self.key_tokens_a_minute.map_or("none".to_owned(), |it| it.to_string());
        vec![
            ("calls to models, searches, reads of a run", format!("{models}, {searches}, {reads}"), "issue; the lab measured 20, 12, 29"),
            ("stages of a run", self.stages.len().to_string(), "assumed, so that a run alone takes 39 s as in the lab"),
            ("seconds of a model's call, a search, a read (means)", format!("{}, {}, {}", self.model_seconds, self.search_seconds, self.read_seconds), "assumed, lognormal"),
            ("processor seconds of a run", self.cpu_seconds.to_string(), "measured, 2.6 to 2.9 (540d219a)"),
            ("tokens of a run", self.tokens_per_run.to_string(), "measured (6c99224a)"),
            ("pages stored, bytes each", format!("{}, {}", self.stored_pages, self.page_bytes), "issue; the lab measured 29 pages"),
            ("slots of a server (`serve.concurrency`)", self.slots.to_string(), "assumed; the default in the code is 4"),
            ("cores of a server", self.cores.to_string(), "assumed"),
            ("searches and reads of a server at once (`concurrency`)", self.web_places.to_string(), "code, default"),
            ("commits a second of PostgreSQL", self.postgres_commits.to_string(), "assumed, one primary with 32 cores"),
            ("seconds of a transaction without queueing", self.postgres_seconds.to_string(), "assumed"),
            ("a read by key, in commits", self.read_cost.to_string(), "assumed; a published table of pgbench: 0.16 to 0.2"),
            ("a row walked over or a notification delivered, in commits", self.row_cost.to_string(), "assumed, 5 µs of a core"),
            ("commits of a journaled call; of a flush; of a run besides", format!("{}; {}; {}", self.commits_per_call, self.commits_per_flush, self.commits_per_run), "code, most; code; assumed"),
            ("seconds between flushes; looks at commands", format!("{}; {}", self.flush_interval, self.poll_interval), "code"),
            ("streams that follow a run", self.followers.to_string(), "assumed"),
            ("seconds between notifications; looks for runs of dead servers; signs of life", format!("{}; {}; {}", self.notify_interval, self.look_interval, self.alive_interval), "code"),
            ("seconds between renewals of a share of a key; while calls wait", format!("{}; {}", self.renew_interval, self.waiting_renew_interval), "code"),
            ("seconds that a renewal holds the key's lock; for each row", format!("{}; {:.6}", self.share_lock_seconds, self.share_row_seconds), "assumed"),
            ("calls at once of the provider's key", self.key_calls.to_string(), "assumed; the default in the code is 32"),
            ("tokens a minute of the key", tokens, "assumed"),
            ("state transitions a second of Temporal; of a run", format!("{}; {}", self.temporal_transitions, self.transitions_per_run), "assumed"),
            ("seconds between heartbeats of an activity", self.activity_heartbeat.to_string(), "design"),
            ("puts a second of the object store", self.object_puts.to_string(), "S3's documentation, one prefix"),
            ("peak hour beside the mean of the day", self.peak_factor.to_string(), "assumed"),
            ("days that pages stay", self.retention_days.to_string(), "assumed"),
            ("US dollars a month: server, PostgreSQL, Temporal", format!("{}, {}, {}", prices.server, prices.postgres, prices.temporal), "assumed"),
            ("US dollars: TB-month, million puts, models of a run", format!("{}, {}, {}", prices.stored_tb, prices.million_puts, prices.models_per_run), "assumed"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standard_run_makes_78_journaled_calls_with_its_decision() {
        let parameters = Parameters::default();
        assert_eq!(parameters.calls(), (25, 12, 40));
        assert_eq!(parameters.calls_per_run() + 1, 78);
    }
}
