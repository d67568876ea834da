//! A question as people and programs put it: what words are worth asking, which days, engines and folders are meant, and the
//! JSON object of rows B1 and E1 with all else that a question may say.
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::when::{Edge, day};
use crate::app::engines::resolve;
use crate::app::given::PlanFile;
use crate::config::{Flag, Loaded, SETTINGS, Settings, value};
use crate::domain::{Method, Mode, ModelChoice, ModelRole, Question, Turn};
use crate::error::{Error, Kind, Result};
use crate::surfaces::export::escape::line;

/// Turns of a dialogue taken in, and the longest text of one, characters.
const MOST_TURNS: usize = 50;
const LONGEST: usize = 4_000;

/// Names in a list (engines, domains, folders), and the longest of them, characters.
const MOST_NAMES: usize = 50;
const LONGEST_NAME: usize = 500;

/// The field of row E1 with what was said before.
pub(crate) const DIALOGUE: &str = "followUpDialogue";

/// The question without the space around it, if it is one and not too long.
///
/// # Errors
/// `Usage`.
pub(crate) fn worth_asking(text: &str, streamed: bool) -> Result<String> {
    let most = Question::MAX_BYTES;
    let trimmed = text.trim();
    if !trimmed.chars().any(char::is_alphanumeric) {
        return Err(
            Error::new(Kind::Usage, "question is empty").hint("write what you want to find out")
        );
    }
    if trimmed.len() > most {
        let long = if streamed {
            format!("more than {most}")
        } else {
            trimmed.len().to_string()
        };
        return Err(Error::new(
            Kind::Usage,
            format!("question is {long} bytes long; allowed are 1 to {most}"),
        )
        .hint("put long material into a document and search it with --folder"));
    }
    Ok(trimmed.to_owned())
}

/// Whether there are signs beyond ASCII in it, and no letter or digit.
fn of_signs(text: &str) -> bool {
    let sign = |it: char| it > '\u{bf}' && !it.is_whitespace();
    text.len() <= Question::MAX_BYTES
        && text.chars().any(sign)
        && !text.chars().any(char::is_alphanumeric)
}

/// A two-letter code of a language. `field` is what names it.
///
/// # Errors
/// `Usage`, naming the field.
pub(crate) fn lang(field: &str, given: Option<&str>) -> Result<Option<String>> {
    let Some(given) = given else { return Ok(None) };
    let code = given.to_ascii_lowercase();
    if code.len() == 2 && code.bytes().all(|it| it.is_ascii_lowercase()) {
        return Ok(Some(code));
    }
    Err(Error::new(
        Kind::Usage,
        format!(
            "{field} must be a two-letter language code, not `{}`",
            line(given)
        ),
    )
    .hint("write en, de, fr, …"))
}

/// Whether the first day comes before the last. `dash` stands before the names of both.
///
/// # Errors
/// `Usage` where it does not.
pub(crate) fn in_order(dash: &str, since: Option<&str>, until: Option<&str>) -> Result<()> {
    match (since, until) {
        (Some(since), Some(until)) if since > until => Err(Error::new(
            Kind::Usage,
            format!("{dash}since {since} is after {dash}until {until}"),
        )),
        _ => Ok(()),
    }
}

/// The engines to ask: those that are named, else those of the settings. Where these say `auto`, folders that are named are
/// searched alone: who has put documents together means these.
///
/// # Errors
/// `Usage` for a name that nobody here knows.
pub(crate) fn engines(
    named: &[String],
    only_local: bool,
    settings: &Settings,
    with_folders: bool,
) -> Result<Vec<String>> {
    if only_local {
        return Ok(Vec::new());
    }
    if named.is_empty() && with_folders && settings.engines == ["auto"] {
        return Ok(Vec::new());
    }
    let words = if named.is_empty() {
        &settings.engines
    } else {
        named
    };
    resolve(settings, words)
}

/// How a question of this mode is researched: evidence alone takes rounds of its own, unless somebody says how many.
pub(crate) fn method(loaded: &Loaded, mode: Mode) -> Method {
    let mut method = loaded.settings.method.clone();
    if let (Mode::Evidence, Some(rounds)) = (mode, loaded.rounds_of_evidence()) {
        method.depth = rounds;
    }
    method
}

/// The turns in a JSON list, each with something said.
///
/// # Errors
/// What is wrong with them, naming the place.
pub(crate) fn turns(rows: &Value) -> std::result::Result<Vec<Turn>, String> {
    let Value::Array(rows) = rows else {
        return Err(format!("{DIALOGUE} must be a list"));
    };
    if rows.len() > MOST_TURNS {
        return Err(format!(
            "{DIALOGUE} has {} turns; at most {MOST_TURNS}",
            rows.len()
        ));
    }
    let mut found = Vec::new();
    for (nth, row) in rows.iter().enumerate() {
        let turn = Turn::deserialize(row)
            .map_err(|fault| format!("{DIALOGUE}[{nth}] is no turn: {fault}"))?;
        let sides = [&turn.system, &turn.assistant, &turn.user];
        if sides
            .iter()
            .all(|it| it.as_deref().unwrap_or_default().trim().is_empty())
        {
            return Err(format!(
                "{DIALOGUE}[{nth}] says nothing; it must have system, assistant or user"
            ));
        }
        if let Some(long) = sides
            .iter()
            .filter_map(|it| it.as_deref())
            .find(|it| it.chars().count() > LONGEST)
        {
            return Err(format!(
                "{DIALOGUE}[{nth}] is {} characters long; at most {LONGEST}",
                long.chars().count()
            ));
        }
        found.push(turn);
    }
    Ok(found)
}

/// A question as a JSON object puts it, each field judged, nothing looked up yet.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The words.
    pub text: String,
    /// The run that it follows, as written.
    pub follows: Option<String>,
    /// Report, answer or evidence, where it says.
    pub mode: Option<Mode>,
    /// Settings that it sets.
    pub flags: Vec<Flag>,
    engines: Vec<String>,
    only_local: bool,
    /// Folders, where they are named, none of them too; by their paths once the question is made.
    pub folders: Option<Vec<String>>,
    domains: Vec<String>,
    not_domains: Vec<String>,
    since: Option<String>,
    until: Option<String>,
    lang: Option<String>,
    model: Option<String>,
    dialogue: Vec<Turn>,
    clarify: bool,
    approve: bool,
    plan: Option<PlanFile>,
}

/// Settings that a question may set, by the field that does: its own name, and the names of rows B1, D1 and E1.
const SET: &[(&str, &str)] = &[
    ("effort", "effort"),
    ("strategy", "strategy"),
    ("breadth", "breadth"),
    ("depth", "depth"),
    ("max_iterations", "max_iterations"),
    ("completeness_threshold", "completeness_threshold"),
    ("summaryTokens", "summary_tokens"),
    ("summary_tokens", "summary_tokens"),
    ("max_sources", "max_sources"),
    ("fresh", "fresh"),
];

/// Whether a question has a field of this name.
pub(crate) fn is_field(name: &str) -> bool {
    OTHER.contains(&name) || SET.iter().any(|it| it.0 == name)
}

/// Bounds that `budget` may set.
const BOUNDS: [&str; 6] = ["usd", "seconds", "calls", "searches", "pages", "tokens"];

/// Every other field.
const OTHER: &[&str] = &[
    "question",
    "query",
    "context",
    "mode",
    "output",
    "engines",
    "only_local",
    "folders",
    "domains",
    "not_domains",
    "since",
    "until",
    "language",
    "model",
    DIALOGUE,
    "ask",
    "plan",
    "follows",
    "budget",
];

impl Asked {
    /// Reads the object; what surfaces take out of it for themselves is named in `besides`.
    ///
    /// # Errors
    /// `Usage`, naming the field, also one that nobody here knows.
    pub fn parse(value: &Value, besides: &[&str]) -> Result<Asked> {
        let Value::Object(it) = value else {
            return Err(Error::new(Kind::Usage, "the request is no JSON object")
                .hint("write {\"question\": \"…\"}"));
        };
        for name in it.keys() {
            if !is_field(name) && !besides.contains(&name.as_str()) {
                return Err(
                    Error::new(Kind::Usage, format!("there is no field `{}`", line(name)))
                        .hint("see /openapi.json for the fields of a question"),
                );
            }
        }
        let fields = Fields(it);
        let mut asked = Asked {
            text: fields.question()?,
            follows: fields.text("follows")?,
            mode: fields.mode()?,
            flags: fields.settings()?,
            // An empty list names no engine; none at all means those of the settings.
            engines: match fields.names("engines")? {
                it if it.is_empty() && fields.get("engines").is_some() => vec!["none".to_owned()],
                it => it,
            },
            only_local: fields.truth("only_local")?,
            folders: fields
                .get("folders")
                .is_some()
                .then(|| fields.names("folders"))
                .transpose()?,
            domains: fields.names("domains")?,
            not_domains: fields.names("not_domains")?,
            since: fields.text("since")?,
            until: fields.text("until")?,
            lang: lang("language", fields.text("language")?.as_deref())?,
            model: fields.text("model")?,
            clarify: fields.truth("ask")?,
            ..Asked::default()
        };
        if let Some(rows) = it.get(DIALOGUE).filter(|it| !it.is_null()) {
            asked.dialogue = turns(rows).map_err(|it| Error::new(Kind::Usage, it))?;
        }
        if let Some(context) = fields.text("context")? {
            asked.dialogue.push(Turn {
                system: None,
                assistant: None,
                user: Some(context),
            });
        }
        match it.get("plan") {
            None | Some(Value::Null) => {}
            Some(Value::String(word)) if word == "auto" => {}
            Some(Value::String(word)) if word == "require_approval" => asked.approve = true,
            Some(Value::Object(_)) => {
                let text = it["plan"].to_string();
                asked.plan = Some(PlanFile::parse("of the request", &text)?);
            }
            Some(_) => {
                return Err(wrong("plan", "must be auto, require_approval or a plan"));
            }
        }
        Ok(asked)
    }

    /// The question it comes to, by the settings in force (with [`Asked::flags`] laid over) and within what is `served`.
    ///
    /// # Errors
    /// `Usage`, naming the field.
    pub fn question(&self, loaded: &Loaded, served: &Served, today: Date) -> Result<Question> {
        let settings = &loaded.settings;
        let folders = served.folders(self.folders.as_deref())?;
        let engines = engines(
            &self.engines,
            self.only_local,
            settings,
            !folders.is_empty(),
        )
        .map_err(|it| match self.engines.is_empty() {
            // It is the settings that name what is not there.
            true => Error::new(Kind::Setup, "choosing engines by the settings").because(it),
            false => named("engines", &it),
        })?;
        if folders.is_empty() && engines.is_empty() {
            return Err(Error::new(Kind::Usage, "there is nothing to search")
                .hint("name engines, or have the server started with --folder DIR"));
        }
        let edge = |field, text: &Option<String>, edge| {
            text.as_deref()
                .map(|it| day(field, it, edge, today))
                .transpose()
        };
        let since = edge("since", &self.since, Edge::First)?;
        let until = edge("until", &self.until, Edge::Last)?;
        in_order("", since.as_deref(), until.as_deref())?;
        let mode = self.mode.unwrap_or_default();
        let mut question = Question {
            mode,
            engines,
            budget: settings.budget,
            folders,
            domains: self.domains.clone(),
            not_domains: self.not_domains.clone(),
            since,
            until,
            lang: self.lang.clone(),
            models: served.models(self.model.as_deref(), settings)?,
            dialogue: self.dialogue.clone(),
            clarify: self.clarify,
            approve: self.approve,
            ..Question::new(self.text.clone(), today.to_string(), method(loaded, mode))
        };
        if let Some(plan) = &self.plan {
            question.given = Some(Box::new(plan.given(&question)?));
        }
        Ok(question)
    }
}

impl Asked {
    /// What it comes to where it follows another run: `before` is its words in the places and settings of that one.
    ///
    /// # Errors
    /// Those of [`Loaded::lay_flags_over`]; `Usage` for a model that is not offered.
    pub fn following(
        &self,
        before: Question,
        loaded: &Loaded,
        served: &Served,
    ) -> Result<Question> {
        let mut question = before;
        loaded.lay_flags_over(&mut question)?;
        if let Some(model) = &self.model {
            question.models = served.models(Some(model), &loaded.settings)?;
        }
        question.mode = self.mode.unwrap_or(question.mode);
        question.lang = self.lang.clone().or(question.lang);
        question.clarify = self.clarify;
        question.approve = self.approve;
        Ok(question)
    }
}

/// What a server offers to those who ask it: nothing else can be named.
#[derive(Debug, Clone, Default)]
pub struct Served {
    /// Folders, as absolute paths.
    pub folders: Vec<PathBuf>,
    /// Models beside those that are set, `provider:model`.
    pub models: Vec<String>,
}

impl Served {
    /// The folders that are named, by path or last name; all without a name.
    fn folders(&self, named: Option<&[String]>) -> Result<Vec<String>> {
        let all = self.folders.iter();
        let Some(named) = named else {
            return Ok(all.map(|it| it.to_string_lossy().into_owned()).collect());
        };
        let mut found = Vec::new();
        for name in named {
            let is = |it: &&PathBuf| {
                it.as_path() == Path::new(name)
                    || it.file_name().is_some_and(|it| it == name.as_str())
            };
            let Some(it) = self.folders.iter().find(is) else {
                return Err(Error::new(
                    Kind::Usage,
                    format!("folders: `{}` is not served here", line(name)),
                )
                .hint("leave folders out to search all that are served"));
            };
            let path = it.to_string_lossy().into_owned();
            if !found.contains(&path) {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// The model of each role. Who asks may name a model only of those that the operator has set: it is paid for by them.
    fn models(&self, named: Option<&str>, settings: &Settings) -> Result<ModelChoice> {
        match named {
            None => Ok(settings.models.clone()),
            Some("none") => Ok(ModelChoice::None),
            Some(it) if self.models.iter().any(|known| known == it) || settings.models.values().any(|known| known == it) => {
                let each = ModelRole::ALL.into_iter();
                Ok(each.map(|role| (role, it.to_owned())).collect())
            }
            Some(it) => Err(Error::new(
                Kind::Usage,
                format!("model: `{}` is not offered here", line(it)),
            )
            .hint("leave model out for the one that is set; the operator offers others with `serve.models`")),
        }
    }
}

/// The same fault, with the field that it is about.
fn named(field: &str, it: &Error) -> Error {
    let fault = Error::new(it.kind(), format!("{field}: {}", it.chain()));
    match it.help() {
        Some(hint) => fault.hint(hint),
        None => fault,
    }
}

fn wrong(field: &str, what: &str) -> Error {
    Error::new(Kind::Usage, format!("{field} {what}"))
}

/// The fields of an object, each judged as it is read. `null` is as if it were not there.
struct Fields<'v>(&'v Map<String, Value>);

impl Fields<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|it| !it.is_null())
    }

    fn question(&self) -> Result<String> {
        let both = [self.get("question"), self.get("query")];
        let given = match both {
            [Some(it), None] | [None, Some(it)] => it,
            [None, None] => {
                return Err(wrong("question", "is missing").hint("write {\"question\": \"…\"}"));
            }
            [Some(_), Some(_)] => {
                return Err(wrong(
                    "question",
                    "and query are the same; give one of them",
                ));
            }
        };
        match given {
            // Whether signs beyond ASCII are letters is judged with what they mean: no schema tells.
            Value::String(it) if of_signs(it) => Ok(it.trim().to_owned()),
            Value::String(it) => worth_asking(it, false),
            _ => Err(wrong("question", "must be a text")),
        }
    }

    fn text(&self, name: &str) -> Result<Option<String>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(it)) if it.chars().count() > LONGEST => {
                Err(wrong(name, &format!("is longer than {LONGEST} characters")))
            }
            // An empty field of a form is one that nobody filled in.
            Some(Value::String(it)) => Ok(Some(it.trim().to_owned()).filter(|it| !it.is_empty())),
            Some(_) => Err(wrong(name, "must be a text")),
        }
    }

    fn truth(&self, name: &str) -> Result<bool> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(it)) => Ok(*it),
            Some(_) => Err(wrong(name, "must be true or false")),
        }
    }

    fn names(&self, name: &str) -> Result<Vec<String>> {
        let rows = match self.get(name) {
            None => return Ok(Vec::new()),
            Some(Value::Array(rows)) => rows,
            Some(_) => return Err(wrong(name, "must be a list of texts")),
        };
        if rows.len() > MOST_NAMES {
            return Err(wrong(name, &format!("has more than {MOST_NAMES} entries")));
        }
        let each = |it: &Value| match it.as_str().map(str::trim) {
            Some("") | None => Err(wrong(name, "must be a list of texts, none of them empty")),
            Some(it) if it.chars().count() > LONGEST_NAME => Err(wrong(
                name,
                &format!("has an entry longer than {LONGEST_NAME} characters"),
            )),
            Some(it) => Ok(it.to_owned()),
        };
        rows.iter().map(each).collect()
    }

    fn mode(&self) -> Result<Option<Mode>> {
        let (name, it) = match (self.get("mode"), self.get("output")) {
            (Some(it), _) => ("mode", it),
            (None, Some(it)) => ("output", it),
            (None, None) => return Ok(None),
        };
        match it.as_str() {
            Some("report") => Ok(Some(Mode::Report)),
            Some("answer") => Ok(Some(Mode::Answer)),
            Some("evidence") => Ok(Some(Mode::Evidence)),
            _ => Err(wrong(name, "must be report, answer or evidence")),
        }
    }

    fn settings(&self) -> Result<Vec<Flag>> {
        let mut flags = Vec::new();
        for (field, name) in SET {
            if let Some(it) = self.get(field) {
                flags.push(flag(name, field, it)?);
            }
        }
        let bounds = match self.get("budget") {
            None => return Ok(flags),
            Some(Value::Object(it)) => it,
            Some(_) => {
                return Err(wrong(
                    "budget",
                    "must be an object, as in {\"seconds\": 300}",
                ));
            }
        };
        for (name, it) in bounds.iter().filter(|it| !it.1.is_null()) {
            if !BOUNDS.contains(&name.as_str()) {
                return Err(wrong("budget", &format!("has no bound `{}`", line(name)))
                    .hint(format!("bounds are {}", BOUNDS.join(", "))));
            }
            flags.push(flag(&format!("budget.{name}"), "budget", it)?);
        }
        Ok(flags)
    }
}

/// The setting `name` as set by a field. Its value is judged with all others when the settings are resolved.
fn flag(name: &str, field: &'static str, value: &Value) -> Result<Flag> {
    let known = SETTINGS.iter().find(|it| it.name == name);
    let yes_or_no = known.is_some_and(|it| it.kind == value::Kind::Bool);
    if yes_or_no && !value.is_boolean() {
        return Err(wrong(field, "must be true or false"));
    }
    let value = match value {
        Value::String(it) => it.clone(),
        // A whole number is one however it is written.
        Value::Number(it) => match it.as_f64() {
            Some(n) if it.is_f64() && n.fract() == 0.0 && n.abs() < 1e15 => format!("{n:.0}"),
            _ => it.to_string(),
        },
        Value::Bool(it) => it.to_string(),
        _ => return Err(wrong(field, "must be a text, a number, true or false")),
    };
    match known {
        Some(it) => Ok(Flag {
            name: it.name,
            flag: field,
            value,
        }),
        None => Err(Error::new(
            Kind::Internal,
            format!("there is no setting {name}"),
        )),
    }
}
