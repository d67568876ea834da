//! The default components of an app: the system's clock and random numbers, the providers of the settings, the method.
use std::path::PathBuf;
use std::sync::Arc;

use super::components::{AppComponents, RunProviders};
use super::readers::{self, ReaderResources};
use super::spending::SpendGrant;
use super::{clock_rng, document_reader, engines, folders, models, semantic};
use crate::config::Settings;
use ibid_core::Result;
use ibid_core::domain::{ModelRole, Question};
use ibid_extract::ExtractLimits;
use ibid_llm::cached_model::CachedModel;
use ibid_llm::stack::SharedModels;
use ibid_net::service::RateLimiters;
use ibid_net::web::host_limit::{HostLimiter, OwnerHostLimiter};

use ibid_core::ports::{Egress, RoleModel};

impl AppComponents {
    /// The system's clock and random numbers, the providers of the settings, and the method of [`ibid_research`].
    pub fn local() -> AppComponents {
        // Shared by all runs: the limits hold per key and per host, not per run.
        let models = Arc::new(SharedModels::default());
        let shared_models = Arc::clone(&models);
        let rates = Arc::new(RateLimiters::default());
        let rate_limiters = Arc::clone(&rates);
        let host_limiter = Arc::new(HostLimiter::default());
        let index_pool = Arc::new(folders::IndexPool::default());
        AppComponents {
            clock: clock_rng::clock(),
            chance: clock_rng::rng(),
            models,
            rates,
            open: Arc::new(move |settings, question, owner| {
                let user = owner.map(|owner| owner.user.as_str());
                let shared = SharedLimits {
                    documents: document_reader::limits_for(settings, owner),
                    models: Arc::clone(&shared_models),
                    rates: Arc::clone(&rate_limiters),
                    hosts: OwnerHostLimiter::new(&host_limiter, user),
                    user: user.map(str::to_owned),
                    indexes: Arc::clone(&index_pool),
                };
                Box::pin(open_providers(settings, question, shared))
            }),
            research: Arc::new(|providers, log, run, question| {
                Box::pin(ibid_research::research(providers, log, run, question))
            }),
            fleet: None,
            plan: Arc::new(ibid_research::plan_by_heuristics),
        }
    }
}

/// What the runs of this process share.
struct SharedLimits {
    documents: ExtractLimits,
    models: Arc<SharedModels>,
    rates: Arc<RateLimiters>,
    hosts: OwnerHostLimiter,
    indexes: Arc<folders::IndexPool>,
    /// The user that asks, where there are several.
    user: Option<String>,
}

/// The providers of a question: its folders, its engines, the readers for what these find, and its models.
async fn open_providers(
    settings: &Settings,
    question: &Question,
    shared: SharedLimits,
) -> Result<RunProviders> {
    let paths: Vec<PathBuf> = question.folders.iter().map(PathBuf::from).collect();
    let egress = Egress::default();
    let embedder = semantic::embedder(settings)?;
    let planner = question.models.contains_key(&ModelRole::Planner);
    let cache = if question.engines.is_empty() && !planner {
        None
    } else {
        let cache = readers::open_cache(settings).await?;
        cache.map(|cache| Arc::new(cache.for_user(shared.user.as_deref())))
    };
    let rates = &*shared.rates;
    let engines = engines::open(settings, &question.engines, rates, cache.as_ref(), &egress)?;
    let limits = shared.documents;
    let indexes = &*shared.indexes;
    let opened = indexes.open(settings, &limits, &paths, embedder.clone()).await?;
    let stored: Vec<_> = opened.iter().filter_map(|folder| folder.vector_index()).collect();
    let sentences = match &embedder {
        Some(it) if !opened.is_empty() => {
            semantic::sentence_vectors(settings, it, shared.user.as_deref()).await
        }
        _ => None,
    };
    let ranker = semantic::ranker(settings, embedder, stored, sentences)?;
    let (mut models, prior_spend) = models::open(
        settings,
        &question.models,
        &SpendGrant::for_run(question),
        shared.models,
        &egress,
    )?;
    let (age, fresh) = (settings.web.search_cache, settings.web.fresh);
    if let (Some(planner), Some(cache)) = (models.get(ModelRole::Planner).cloned(), &cache)
        && !age.is_zero()
    {
        let model = Arc::new(CachedModel::new(planner.model, Arc::clone(cache), age, fresh));
        models.insert(ModelRole::Planner, RoleModel { model, ..planner });
    }
    let mut providers = RunProviders {
        models,
        prior_spend,
        egress: egress.clone(),
        ..folders::folder_providers(opened, ranker)
    };
    for source in engines::open_mcp_sources(settings, &question.engines, &egress) {
        providers.search.push(source.clone());
        providers.readers.push(source);
    }
    if !engines.is_empty() {
        providers.search.extend(engines);
        let host_limiter = shared.hosts;
        let resources = ReaderResources { limits, host_limiter, rate_limiters: rates, cache };
        providers.readers.extend(readers::open(settings, resources, &egress)?);
    }
    Ok(providers)
}
