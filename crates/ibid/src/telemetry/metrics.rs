//! Converts OpenMetrics text to OTLP metrics, so that both exports have the same numbers.
use std::collections::BTreeMap;

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, Sum,
};

use super::semconv::SemConvVersion;
use super::spans::attribute;

type LabelPairs = Vec<(String, String)>;

/// One metric family.
#[derive(Default)]
struct MetricFamily {
    help: String,
    kind: String,
    unit: String,
    /// Suffix, labels and value of each sample, in order.
    values: Vec<(String, LabelPairs, f64)>,
}

/// Parses `text`, whose counters started at `since_ms`. Skips invalid lines.
pub(super) fn parse(text: &str, since_ms: u64, now_ms: u64, names: SemConvVersion) -> Vec<Metric> {
    let mut families: BTreeMap<String, MetricFamily> = BTreeMap::new();
    for line in text.lines() {
        match line.strip_prefix("# ") {
            Some(about) => {
                let mut words = about.splitn(3, ' ');
                let (Some(what), Some(name)) = (words.next(), words.next()) else {
                    continue;
                };
                let rest = words.next().unwrap_or_default().to_owned();
                let family = families.entry(name.to_owned()).or_default();
                match what {
                    "HELP" => family.help = rest,
                    "TYPE" => family.kind = rest,
                    "UNIT" => family.unit = rest,
                    _ => {}
                }
            }
            None => {
                let Some((name, labels, value)) = sample(line) else {
                    continue;
                };
                let own = families
                    .iter_mut()
                    .filter(|family| name.starts_with(family.0.as_str()))
                    .max_by_key(|family| family.0.len());
                if let Some((of, family)) = own {
                    let suffix = name[of.len()..].to_owned();
                    family.values.push((suffix, labels, value));
                }
            }
        }
    }
    let times = (since_ms * 1_000_000, now_ms * 1_000_000);
    let mut out = Vec::new();
    for (name, family) in families {
        out.extend(metric(&name, &family, times));
        out.extend(conventional(&name, &family, times, names));
    }
    out
}

/// Parses a sample: `name{a="b"} 1.5`.
fn sample(line: &str) -> Option<(String, LabelPairs, f64)> {
    let (head, value) = line.rsplit_once(' ')?;
    let value = value.parse().ok()?;
    let Some((name, rest)) = head.split_once('{') else {
        return Some((head.to_owned(), Vec::new(), value));
    };
    let mut rest = rest.strip_suffix('}')?;
    let mut labels = Vec::new();
    while let Some((key, after)) = rest.split_once("=\"") {
        let mut word = String::new();
        let mut letters = after.char_indices();
        let end = loop {
            match letters.next()? {
                (_, '\\') => match letters.next()?.1 {
                    'n' => word.push('\n'),
                    other => word.push(other),
                },
                (at, '"') => break at,
                (_, other) => word.push(other),
            }
        };
        labels.push((key.to_owned(), word));
        rest = after[end + 1..].trim_start_matches(',');
    }
    Some((name.to_owned(), labels, value))
}

fn attributes(labels: &[(String, String)]) -> Vec<KeyValue> {
    labels.iter().map(|(key, value)| attribute(key, value.as_str())).collect()
}

fn point(labels: &[(String, String)], value: f64, (since, now): (u64, u64)) -> NumberDataPoint {
    NumberDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano: since,
        time_unix_nano: now,
        value: Some(Value::AsDouble(value)),
        ..NumberDataPoint::default()
    }
}

fn metric(name: &str, family: &MetricFamily, times: (u64, u64)) -> Option<Metric> {
    let total = |pair: &&(String, LabelPairs, f64)| pair.0 == "_total";
    let points = |row: &(String, LabelPairs, f64)| point(&row.1, row.2, times);
    let data = match family.kind.as_str() {
        "counter" => Data::Sum(Sum {
            data_points: family.values.iter().filter(total).map(points).collect(),
            aggregation_temporality: AggregationTemporality::Cumulative.into(),
            is_monotonic: true,
        }),
        "gauge" | "info" => {
            Data::Gauge(Gauge { data_points: family.values.iter().map(points).collect() })
        }
        "histogram" => Data::Histogram(Histogram {
            data_points: histograms(family, times),
            aggregation_temporality: AggregationTemporality::Cumulative.into(),
        }),
        _ => return None,
    };
    Some(Metric {
        name: name.to_owned(),
        description: family.help.clone(),
        unit: unit(&family.unit),
        data: Some(data),
        ..Metric::default()
    })
}

/// A unit in UCUM notation.
fn unit(word: &str) -> String {
    match word {
        "seconds" => "s".to_owned(),
        other => other.to_owned(),
    }
}

/// Histogram points. OpenMetrics buckets are cumulative, those of OTLP are not.
fn histograms(family: &MetricFamily, (since, now): (u64, u64)) -> Vec<HistogramDataPoint> {
    let mut found: BTreeMap<LabelPairs, HistogramDataPoint> = BTreeMap::new();
    for (suffix, labels, value) in &family.values {
        let bare: LabelPairs = labels.iter().filter(|label| label.0 != "le").cloned().collect();
        let it = found.entry(bare.clone()).or_insert_with(|| HistogramDataPoint {
            attributes: attributes(&bare),
            start_time_unix_nano: since,
            time_unix_nano: now,
            ..HistogramDataPoint::default()
        });
        match suffix.as_str() {
            "_sum" => it.sum = Some(*value),
            "_count" => it.count = *value as u64,
            "_bucket" => {
                let bound = labels.iter().find(|label| label.0 == "le");
                if let Some(bound) = bound.and_then(|bound| bound.1.parse::<f64>().ok())
                    && bound.is_finite()
                {
                    it.explicit_bounds.push(bound);
                }
                it.bucket_counts.push(*value as u64);
            }
            _ => {}
        }
    }
    let mut out: Vec<HistogramDataPoint> = found.into_values().collect();
    for it in &mut out {
        for at in (1..it.bucket_counts.len()).rev() {
            let below = it.bucket_counts[at - 1];
            it.bucket_counts[at] = it.bucket_counts[at].saturating_sub(below);
        }
    }
    out
}

/// The metrics that the semantic conventions define, under their names.
fn conventional(
    name: &str,
    family: &MetricFamily,
    times: (u64, u64),
    names: SemConvVersion,
) -> Vec<Metric> {
    match name {
        "ibid_llm_tokens" => {
            let mut by_name: BTreeMap<&str, Vec<NumberDataPoint>> = BTreeMap::new();
            for (_, labels, value) in &family.values {
                let direction = labels.iter().find(|label| label.0 == "direction");
                let direction = direction.map_or("in", |direction| direction.1.as_str());
                let Some(name) = names.tokens(direction) else {
                    continue;
                };
                let mut labels_of_call =
                    vec![("gen_ai.operation.name".to_owned(), "chat".to_owned())];
                for (key, value) in labels {
                    if key == "model" {
                        labels_of_call.push(("gen_ai.request.model".to_owned(), value.clone()));
                    }
                }
                let points = by_name.entry(name).or_default();
                points.push(point(&labels_of_call, *value, times));
            }
            let sums = by_name.into_iter().map(|(name, data_points)| Metric {
                name: name.to_owned(),
                description: family.help.clone(),
                unit: "{token}".to_owned(),
                data: Some(Data::Sum(Sum {
                    data_points,
                    aggregation_temporality: AggregationTemporality::Cumulative.into(),
                    is_monotonic: true,
                })),
                ..Metric::default()
            });
            sums.collect()
        }
        "ibid_llm_request_duration_seconds" => {
            metric(names.model_seconds(), family, times).into_iter().collect()
        }
        _ => Vec::new(),
    }
}
