//! Settings come in layers, know their origin, and are judged with the place named.
use std::path::{Path, PathBuf};

use ibid::config::value::{SettingKind as Takes, SettingValue};
use ibid::config::{
    Flag, LoadedConfig, ProcessEnv, SETTINGS, SettingOrigin, effort, file, layers, table,
};
use ibid_core::ErrorKind;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let dir = Place(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(dir.path("work/deep/er")).unwrap();
        dir
    }
    fn path(&self, inside: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(inside)
    }
    fn write(&self, inside: &str, text: &str) -> PathBuf {
        let path = self.path(inside);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
    fn surroundings(&self, env: &[(&str, &str)]) -> ProcessEnv {
        let mut all: std::collections::BTreeMap<String, String> =
            env.iter().map(|it| (it.0.to_owned(), it.1.to_owned())).collect();
        all.entry("HOME".to_owned())
            .or_insert_with(|| self.path("home").to_string_lossy().into_owned());
        ProcessEnv { cwd: self.path("work/deep/er"), env: all }
    }
    fn load(&self, env: &[(&str, &str)], flags: &[Flag]) -> ibid_core::Result<LoadedConfig> {
        layers::load(&self.surroundings(env), flags)
    }
}

fn flag(name: &'static str, flag: &'static str, value: &str) -> Flag {
    Flag { name, flag, value: value.to_owned() }
}

fn origin(loaded: &LoadedConfig, name: &str) -> SettingOrigin {
    let row = loaded.resolved.rows().find(|it| it.0.name == name).unwrap();
    row.2.clone()
}

#[test]
fn iterations_are_rounds_where_no_depth_is_set() {
    let place = Place::new();
    let rounds = |env: &[(&str, &str)], flags: &[Flag]| {
        place.load(env, flags).unwrap().settings.method.depth
    };
    let iterations = |value| flag("max_iterations", "--max-iterations", value);
    assert_eq!(rounds(&[], &[]), 2);
    assert_eq!(rounds(&[], &[iterations("7")]), 7);
    assert_eq!(rounds(&[], &[iterations("1")]), 1);
    assert_eq!(rounds(&[], &[iterations("60")]), 12);
    assert_eq!(rounds(&[("IBID_DEPTH", "3")], &[iterations("7")]), 3);
    assert_eq!(rounds(&[], &[flag("effort", "--effort", "deep"), iterations("9")]), 9);
}

#[test]
fn a_model_on_this_machine_has_ten_times_the_time_of_an_effort() {
    let place = Place::new();
    let seconds = |env: &[(&str, &str)], flags: &[Flag]| {
        place.load(env, flags).unwrap().settings.budget.seconds.unwrap()
    };
    let local = flag("model", "--model", "llamacpp:any");
    let quick = flag("effort", "--effort", "quick");
    assert_eq!(seconds(&[], std::slice::from_ref(&quick)), 120);
    assert_eq!(seconds(&[], &[quick, local.clone()]), 1200);
    assert_eq!(seconds(&[("IBID_MODELS_WRITER", "ollama/qwen3:8b")], &[]), 6000);
    assert_eq!(seconds(&[], &[flag("model", "--model", "openai:gpt-5.1")]), 600);
    assert_eq!(seconds(&[("IBID_BUDGET_SECONDS", "90")], &[local]), 90);
}

#[test]
fn each_layer_beats_the_one_below_and_says_so() {
    let place = Place::new();
    let breadth = |env: &[(&str, &str)], flags: &[Flag]| {
        let loaded = place.load(env, flags).unwrap();
        (loaded.settings.method.breadth, origin(&loaded, "breadth"))
    };
    assert_eq!(breadth(&[], &[]), (4, SettingOrigin::Default));
    let user = place.write("home/.config/ibid/config.toml", "# mine\nbreadth = 5\n");
    assert_eq!(breadth(&[], &[]), (5, SettingOrigin::File(user, 2)));
    let project = place.write("work/ibid.toml", "\n\n[budget]\nseconds = 9\n");
    assert_eq!(breadth(&[], &[]).0, 5);
    let project = place.write(
        "work/ibid.toml",
        &format!("breadth = 6\n{}", std::fs::read_to_string(project).unwrap()),
    );
    assert_eq!(breadth(&[], &[]), (6, SettingOrigin::File(project, 1)));
    let dotenv = place.write("work/deep/.env", "IBID_BREADTH=7\n");
    assert_eq!(breadth(&[], &[]), (7, SettingOrigin::DotEnv("IBID_BREADTH".to_owned(), dotenv)));
    let env = [("IBID_BREADTH", "8")];
    assert_eq!(breadth(&env, &[]), (8, SettingOrigin::Env("IBID_BREADTH".to_owned())));
    assert_eq!(
        breadth(&env, &[flag("breadth", "--breadth", "9")]),
        (9, SettingOrigin::Flag("--breadth"))
    );
}

#[test]
fn a_value_out_of_bounds_names_its_place_and_what_is_allowed() {
    let place = Place::new();
    let told = |env: &[(&str, &str)], flags: &[Flag]| {
        let fault = place.load(env, flags).unwrap_err();
        assert_eq!(fault.kind(), ErrorKind::Usage);
        fault.chain()
    };
    assert_eq!(
        told(&[], &[flag("breadth", "--breadth", "99")]),
        "flag --breadth: breadth must be a whole number from 2 to 10, not `99`"
    );
    assert_eq!(
        told(&[("IBID_COMPLETENESS_THRESHOLD", "NaN")], &[]),
        "env IBID_COMPLETENESS_THRESHOLD: completeness_threshold must be a number from 0 to 1, not `NaN`"
    );
    assert!(
        told(&[("IBID_EFFORT", "lazy")], &[]).contains("one of quick, standard, deep, max, auto")
    );
    let path = place.write("work/ibid.toml", "depth = 2\n[budget]\ncalls = \"many\"\n");
    assert_eq!(
        told(&[], &[]),
        format!(
            "{} line 3: budget.calls must be a whole number from 1 to 1000000, or `none`, not `many`",
            path.display()
        )
    );
}

#[test]
fn a_misspelt_name_in_a_file_is_an_error_with_the_nearest_name() {
    let place = Place::new();
    let path = place.write("work/ibid.toml", "\nbreath = 3\n");
    let fault = place.load(&[], &[]).unwrap_err();
    assert_eq!(fault.chain(), format!("{} line 2: there is no setting `breath`", path.display()));
    assert_eq!(fault.hint(), Some("did you mean `breadth`?"));
}

#[test]
fn a_broken_file_is_named_with_its_line() {
    let place = Place::new();
    let path = place.write("work/ibid.toml", "depth = 2\nbreadth = = 3\n");
    let told = place.load(&[], &[]).unwrap_err().chain();
    assert!(told.contains(&format!("{} line 2", path.display())), "{told}");
    std::fs::remove_file(path).unwrap();
    let path = place.write("work/.env", "IBID_DEPTH=2\nsecret words here\n");
    let told = place.load(&[], &[]).unwrap_err().chain();
    assert!(told.contains(&format!("{} line 2", path.display())), "{told}");
    assert!(!told.contains("secret words"), "{told}");
}

#[test]
fn the_env_file_that_a_variable_names_is_read_instead() {
    let place = Place::new();
    place.write("work/.env", "IBID_DEPTH=3\n");
    let other = place.write("other.env", "export IBID_DEPTH='4'\n");
    let other = other.to_str().unwrap();
    for name in ["IBID_ENV_FILE", "DEEPRESEARCH_ENV_FILE"] {
        let loaded = place.load(&[(name, other)], &[]).unwrap();
        assert_eq!(loaded.settings.method.depth, 4, "{name}");
    }
    let fault = place.load(&[("IBID_ENV_FILE", "/nowhere/.env")], &[]).unwrap_err();
    assert_eq!(fault.kind(), ErrorKind::Setup);
    assert!(fault.chain().contains("IBID_ENV_FILE"));
}

#[test]
fn aliases_are_read_and_our_own_name_beats_them() {
    let place = Place::new();
    let loaded = place
        .load(
            &[
                ("DOC_PATH", "/a/docs"),
                ("MIN_EVIDENCE_RECORDS", "7"),
                ("MIN_SOURCE_DOMAINS", "2"),
                ("IBID_MIN_SOURCE_DOMAINS", "1"),
                ("FIRECRAWL_CONCURRENCY", "9"),
                ("IBID_BREADTH", ""),
                ("IBID_BREATH", "3"),
            ],
            &[],
        )
        .unwrap();
    let it = &loaded.settings;
    assert_eq!(it.folders, [Path::new("/a/docs")]);
    assert_eq!(it.method.min_evidence_records, 7);
    assert_eq!(it.method.min_source_domains, 1);
    assert_eq!(it.concurrency, 9);
    assert_eq!(it.method.breadth, 4, "an empty variable says nothing");
    assert_eq!(loaded.unknown, ["IBID_BREATH"]);
}

#[test]
fn effort_fills_what_nothing_nearer_sets() {
    let place = Place::new();
    place.write("work/ibid.toml", "effort = \"max\"\nbreadth = 3\n");
    let loaded = place.load(&[], &[]).unwrap();
    let method = &loaded.settings.method;
    assert_eq!((method.breadth, method.depth), (3, 5));
    assert_eq!(loaded.settings.budget.seconds, Some(3600));
    let loaded = place.load(&[("IBID_EFFORT", "high")], &[flag("depth", "--depth", "1")]).unwrap();
    let method = &loaded.settings.method;
    assert_eq!(effort::name(method.effort), "deep");
    assert_eq!((method.breadth, method.depth), (6, 1));
    assert_eq!(origin(&loaded, "breadth").to_string(), "effort (env IBID_EFFORT)");
}

#[test]
fn standard_effort_is_the_defaults() {
    for (name, value) in effort::preset(ibid_core::domain::Effort::Standard) {
        let row = SETTINGS.iter().find(|it| it.name == name).unwrap();
        assert_eq!(row.default, value, "{name}");
    }
}

#[test]
fn every_setting_reaches_the_program() {
    let place = Place::new();
    // What the environment holds besides is no setting.
    let load = |env: &[(&str, &str)]| {
        let mut settings = place.load(env, &[]).unwrap().settings;
        settings.variables = Default::default();
        settings
    };
    let before = load(&[]);
    for row in SETTINGS.iter() {
        let other = match row.kind {
            Takes::Int(min, max) | Takes::OptionalInt(min, max) => {
                let min = min.to_string();
                if row.default == min { max.to_string() } else { min }
            }
            Takes::Float(..) | Takes::OptionalFloat(..) => "0.25".to_owned(),
            Takes::Bool => (row.default != "true").to_string(),
            // None of the words is a default, but `auto` is one of a strategy.
            Takes::OneOf(words) => words.last().unwrap().0.to_owned(),
            Takes::Path | Takes::Paths => "/somewhere/else".to_owned(),
            Takes::List | Takes::Secret | Takes::Text => "one,two".to_owned(),
        };
        let env = row.env();
        let after = load(&[(env.as_str(), other.as_str())]);
        assert_ne!(before, after, "{} changes nothing", row.name);
        let file = place.write("home/.config/ibid/config.toml", "");
        file::write(&file, row.name, &other).unwrap();
        assert_eq!(load(&[]), after, "{} from a file", row.name);
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn a_renamed_setting_is_still_known_by_its_former_name() {
    let place = Place::new();
    let days = |env: &[(&str, &str)]| {
        let loaded = place.load(env, &[]).unwrap();
        assert_eq!(loaded.unknown, [""; 0]);
        loaded.settings.serve.keep_days
    };
    assert_eq!(days(&[("IBID_SERVE_KEEP_DAYS", "7")]), Some(7));
    let both = [("IBID_SERVE_KEEP_DAYS", "7"), ("IBID_SERVE_RETENTION_DAYS", "8")];
    assert_eq!(days(&both), Some(8), "the present name takes precedence");
    let path = "home/.config/ibid/config.toml";
    let file = place.write(path, "[serve]\nretention_days = 9\nkeep_days = 5\n");
    file::write(&file, "serve.keep_days", "6").unwrap();
    assert_eq!(days(&[]), Some(6), "the former line would stand later");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("retention_days = 6") && !text.contains("keep_days"), "{text}");
    place.write(path, "[serve]\nkeep_days = 5\n");
    assert_eq!(days(&[]), Some(5));
}

#[test]
fn setting_a_value_keeps_comments_and_order() {
    let place = Place::new();
    let path = place.write(
        "c.toml",
        "# why so many\nbreadth = 5 # asked for\n\n[budget]\n# ten minutes\nseconds = 600\n",
    );
    file::write(&path, "breadth", "6").unwrap();
    file::write(&path, "budget.usd", "2.5").unwrap();
    file::write(&path, "globs", "drafts/,*.bak").unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        text,
        "# why so many\nbreadth = 6 # asked for\nglobs = [\"drafts/\", \"*.bak\"]\n\n[budget]\n# ten minutes\nseconds = 600\nusd = 2.5\n"
    );
    let fault = file::write(&path, "breadth", "1").unwrap_err();
    assert_eq!(fault.kind(), ErrorKind::Usage);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn relative_paths_are_meant_from_the_file_they_stand_in() {
    let place = Place::new();
    place.write("work/ibid.toml", "folders = [\"docs\", \"~/notes\"]\n");
    let folders = place.load(&[], &[]).unwrap().settings.folders;
    assert_eq!(folders, [place.path("work/docs"), place.path("home/notes")]);
    let folders = place.load(&[("IBID_FOLDERS", "docs:/b")], &[]).unwrap().settings.folders;
    assert_eq!(folders, [place.path("work/deep/er/docs"), PathBuf::from("/b")]);
}

#[test]
fn data_is_kept_where_the_xdg_specification_says() {
    let place = Place::new();
    let loaded =
        place.load(&[("XDG_DATA_HOME", "/x/data"), ("XDG_CACHE_HOME", "relative")], &[]).unwrap();
    assert_eq!(loaded.settings.data_dir, Path::new("/x/data/ibid"));
    assert_eq!(loaded.settings.cache_dir, place.path("home/.cache/ibid"));
}

#[test]
fn flags_change_a_question_asked_before_and_nothing_else_of_the_settings_does() {
    let place = Place::new();
    let mut recorded = crate::memory::question("why?");
    recorded.method.max_sources = 7;
    let mut forked = recorded.clone();
    // The environment is this machine's business; the question was another's.
    let env = [("IBID_DEPTH", "5"), ("IBID_MODEL", "ollama:qwen3:8b")];
    place.load(&env, &[]).unwrap().apply_flags(&mut forked).unwrap();
    assert_eq!(forked, recorded);
    let flags = [
        flag("effort", "--effort", "deep"),
        flag("breadth", "--breadth", "9"),
        flag("budget.usd", "--budget", "0.5"),
        flag("models.writer", "--model", "openai:gpt-5.1"),
    ];
    place.load(&env, &flags).unwrap().apply_flags(&mut forked).unwrap();
    let method = &forked.method;
    assert_eq!((method.breadth, method.depth, method.max_sources), (9, 3, 30));
    assert_eq!(forked.budget.usd, Some(0.5));
    assert_eq!(forked.budget.seconds, Some(12_000), "an effort stands for its bounds");
    assert_eq!(forked.models.values().collect::<Vec<_>>(), ["openai:gpt-5.1"]);
    let all = [flag("model", "--model", "openai:gpt-5.1")];
    place.load(&[], &all).unwrap().apply_flags(&mut forked).unwrap();
    assert_eq!(forked.models.len(), 5);
    // Every number of a question is a setting of its name, so that none is lost on the way.
    let named = |name: &str| SETTINGS.iter().any(|it| it.name == name);
    let keys = |it: serde_json::Value| it.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let mut method = forked.method.clone();
    method.strategy = Some(ibid_core::domain::Strategy::Planned);
    for name in keys(serde_json::to_value(&method).unwrap()) {
        assert!(name == "team" || named(&name), "{name}");
    }
    for name in keys(serde_json::to_value(method.team).unwrap()) {
        assert!(named(&name), "{name}");
    }
    for name in keys(serde_json::to_value(forked.budget).unwrap()) {
        assert!(named(&format!("budget.{name}")), "budget.{name}");
    }
}

#[test]
fn a_secret_is_never_shown() {
    let value = SettingValue::Secret("sk-verysecret".to_owned());
    assert!(!value.to_display_string().contains("very"));
    assert!(!value.to_json().to_string().contains("very"));
}

#[test]
fn every_setting_has_a_line_in_the_documentation() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let path = root.join("docs/configuration.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut fresh = text.clone();
    for (block, want) in
        [("settings", table::markdown_table()), ("effort", effort::markdown_table())]
    {
        let from = fresh.find(&format!("<!-- {block}:")).unwrap();
        let start = from + fresh[from..].find('\n').unwrap() + 1;
        let end = start + fresh[start..].find("<!-- end -->").unwrap();
        fresh.replace_range(start..end, &want);
    }
    if std::env::var_os("IBID_ACCEPT").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    assert!(
        text == fresh || std::env::var_os("IBID_ACCEPT").is_some(),
        "docs/configuration.md is behind src/config: IBID_ACCEPT=1 cargo test mends it"
    );
    let example = std::fs::read_to_string(root.join(".env.example")).unwrap();
    for name in example.lines().filter_map(|it| it.strip_prefix("# IBID_")?.split_once('=')) {
        let name = format!("IBID_{}", name.0);
        assert!(SETTINGS.iter().any(|it| it.env() == name), "{name}");
    }
    // It names a model for each role, and every other name that a setting has, but for those of OpenTelemetry.
    for role in ibid_core::domain::ModelRole::ALL {
        let name = format!("# IBID_MODELS_{}=", role.as_str().to_uppercase());
        assert!(example.contains(&name), "{name}");
    }
    for name in SETTINGS.iter().flat_map(|it| it.aliases).filter(|it| !it.starts_with("OTEL_")) {
        assert!(example.contains(name), "{name}");
    }
}

#[test]
fn one_key_is_all_the_set_up_there_is() {
    let place = Place::new();
    let with =
        |vars: &[(&str, &str)]| layers::load(&place.surroundings(vars), &[]).unwrap().settings;
    assert!(with(&[]).models.is_empty());
    let one = with(&[("ANTHROPIC_API_KEY", "k"), ("DEEPSEEK_API_KEY", "k")]);
    assert_eq!(one.models_by_key, Some("ANTHROPIC_API_KEY"));
    assert_eq!(one.models.len(), 5);
    assert_eq!(one.budget.usd, Some(ibid::config::default_model::CAP_USD));
    // What is named counts alone, `none` too.
    let named = with(&[("OPENAI_API_KEY", "k"), ("IBID_MODELS_WRITER", "ollama:qwen3:8b")]);
    assert_eq!((named.models.len(), named.models_by_key, named.budget.usd), (1, None, None));
    assert!(with(&[("OPENAI_API_KEY", "k"), ("IBID_MODEL", "none")]).models.is_empty());
    let bound = with(&[("OPENAI_API_KEY", "k"), ("IBID_BUDGET_USD", "0.25")]);
    assert_eq!(bound.budget.usd, Some(0.25));
}

#[test]
fn a_model_chosen_by_its_key_can_be_asked_within_a_bound_of_money() {
    use ibid_llm::stack::ModelSpec;
    use ibid_llm::{ModelTable, ModelTarget};
    for (variable, spec) in ibid::config::default_model::rows() {
        let only = |name: &str| (name == *variable).then(|| "k".to_owned());
        let chosen = ModelSpec::from_table(
            ModelTarget::resolve(spec, &only).unwrap(),
            ModelTable::embedded(),
        );
        assert!(chosen.price.is_some(), "{spec} has no price");
    }
}

#[test]
fn a_role_may_have_its_own_server_key_window_and_price() {
    use ibid::app::models::statuses;
    use ibid_core::domain::ModelRole;
    let place = Place::new();
    let path = place.write(
        "work/ibid.toml",
        r#"
model = "openai:gpt-5.1"
[models]
planner = { model = "ollama:qwen3:32b", base_url = "http://gpu:11434", max_context = 32768 }
[models.verifier]
model = "openrouter:x/y"
api_key_env = "CHECKER_KEY"
price = "0.5/1.5"
"#,
    );
    let load = |env: &[(&str, &str)]| {
        let mut surroundings = place.surroundings(env);
        surroundings.cwd = place.path("work");
        layers::load(&surroundings, &[]).unwrap().settings
    };
    let settings = load(&[("OPENAI_API_KEY", "k"), ("CHECKER_KEY", "c")]);
    assert_eq!(settings.models[&ModelRole::Planner], "ollama:qwen3:32b");
    assert_eq!(settings.models[&ModelRole::Writer], "openai:gpt-5.1");
    assert_eq!(settings.endpoints[&ModelRole::Planner].max_context, Some(32_768));
    let found: Vec<(String, String)> =
        statuses(&settings).into_iter().map(|it| (it.spec, it.resolved.unwrap().place)).collect();
    let at = |spec: &str, place: &str| found.contains(&(spec.to_owned(), place.to_owned()));
    assert!(at("ollama:qwen3:32b", "http://gpu:11434"), "{found:?}");
    assert!(at("openrouter:x/y", "https://openrouter.ai/api/v1"), "{found:?}");

    // The key that is named is the one that is missed.
    let lacking = load(&[("OPENAI_API_KEY", "k"), ("OPENROUTER_API_KEY", "o")]);
    let fault = statuses(&lacking).into_iter().find_map(|it| it.resolved.err());
    assert!(fault.unwrap().hint().unwrap().contains("CHECKER_KEY"));

    // Writing keeps what is there.
    file::write(&path, "models.planner", "ollama:qwen3:8b").unwrap();
    file::write(&path, "models.writer", "openai:gpt-5-mini").unwrap();
    file::write(&path, "models.writer.base_url", "http://gate:8000/v1").unwrap();
    let settings = load(&[("OPENAI_API_KEY", "k"), ("CHECKER_KEY", "c")]);
    assert_eq!(settings.models[&ModelRole::Planner], "ollama:qwen3:8b");
    assert_eq!(settings.endpoints[&ModelRole::Planner].base_url, "http://gpu:11434");
    assert_eq!(settings.models[&ModelRole::Writer], "openai:gpt-5-mini");
    assert_eq!(settings.endpoints[&ModelRole::Writer].base_url, "http://gate:8000/v1");
}
