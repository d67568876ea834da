//! The figures of a measurement by a judge, as a table or as JSON.
use serde_json::{Value, json};

use super::interval::BootstrapInterval;
use crate::judge::Judge;

/// A figure of the table.
#[derive(Debug, Clone)]
pub(crate) struct FigureRow {
    pub(crate) name: String,
    /// How many tasks it is about.
    pub(crate) tasks: usize,
    /// The figure; `None` if nothing was judged.
    pub(crate) figure: Option<BootstrapInterval>,
}

/// All figures, with what was counted and why they are not comparable.
#[derive(Debug, Default)]
pub(crate) struct FigureTable {
    pub(crate) title: String,
    pub(crate) rows: Vec<FigureRow>,
    pub(crate) counts: Vec<(String, usize)>,
    /// How the measurement differs from the published one.
    pub(crate) differs: Vec<String>,
}

impl FigureTable {
    /// Adds a figure over `tasks` tasks.
    pub(crate) fn add(&mut self, name: &str, tasks: usize, figure: Option<BootstrapInterval>) {
        self.rows.push(FigureRow { name: name.to_owned(), tasks, figure });
    }

    /// The figure called `name`.
    pub(crate) fn figure(&self, name: &str) -> Option<f64> {
        let row = self.rows.iter().find(|row| row.name == name)?;
        row.figure.map(|figure| figure.value)
    }

    /// The count called `name`.
    pub(crate) fn count(&self, name: &str) -> Option<usize> {
        self.counts.iter().find(|count| count.0 == name).map(|count| count.1)
    }

    /// Adds what the judge was asked, and says so if `published` judges are others.
    pub(crate) fn add_judge(&mut self, judge: &Judge, published: &str) {
        self.counts.extend(judge.counts());
        if let Some(why) = judge.first_unusable() {
            eprintln!("the first unusable answer: {why}");
        }
        let spent = match judge.spent() {
            None => "an amount that is not known".to_owned(),
            Some(usd) => format!("${usd:.4}"),
        };
        eprintln!("spent in this run: {spent}");
        if !judge.name().contains(published) {
            self.differs.insert(0, format!("the judge is {}, not {published}", judge.name()));
        }
    }

    /// Prints the table, or the JSON object.
    pub(crate) fn print(&self, as_json: bool) {
        match as_json {
            true => println!("{}", self.json()),
            false => print!("{}", self.text()),
        }
    }

    /// The figures as JSON; what is counted is under `counts`.
    pub(crate) fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                let of = |value: fn(&BootstrapInterval) -> f64| row.figure.as_ref().map(value);
                json!({"name": row.name, "tasks": row.tasks, "value": of(|it| it.value),
                    "low": of(|it| it.low), "high": of(|it| it.high)})
            })
            .collect();
        let counts: serde_json::Map<String, Value> =
            self.counts.iter().map(|(name, count)| (name.clone(), (*count).into())).collect();
        json!({"title": self.title, "figures": rows, "counts": counts,
            "comparable": self.differs.is_empty(), "differs": self.differs})
    }

    fn text(&self) -> String {
        let mut out =
            format!("{}\n{:<44}{:>6}{:>10}   95 % interval\n", self.title, "", "tasks", "value");
        for FigureRow { name, tasks, figure } in &self.rows {
            let figure = match figure {
                None => format!("{:>10}", "–"),
                Some(it) => format!("{:>10.2}   {:.2} – {:.2}", it.value, it.low, it.high),
            };
            out.push_str(&format!("{name:<44}{tasks:>6}{figure}\n"));
        }
        for (name, count) in &self.counts {
            out.push_str(&format!("{name:<44}{count:>6}\n"));
        }
        if !self.differs.is_empty() {
            out.push_str("not comparable with published figures:\n");
            for why in &self.differs {
                out.push_str(&format!("- {why}\n"));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_stands_in_the_table_and_in_the_json_and_nothing_judged_is_no_zero() {
        let mut table = FigureTable { title: "RACE".to_owned(), ..FigureTable::default() };
        table.add("overall", 2, super::super::interval::mean(&[40.0, 60.0]));
        table.add("zh", 0, None);
        table.counts.push(("tasks".to_owned(), 2));
        table.differs.push("another judge".to_owned());
        assert_eq!((table.figure("overall"), table.figure("zh")), (Some(50.0), None));
        assert_eq!(table.count("tasks"), Some(2));
        let text = table.text();
        assert!(
            text.contains("50.00   40.00 – 60.00") && text.contains("not comparable"),
            "{text}"
        );
        let json = table.json();
        assert_eq!(
            (&json["comparable"], &json["figures"][1]["value"]),
            (&json!(false), &Value::Null)
        );
    }
}
