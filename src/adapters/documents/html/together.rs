//! Chances of blocks that are text, or are not, together.
//!
//! The trees look at each block by itself and are now and then wrong by chance about one of a list or
//! a row of like paragraphs. So each leans towards the mean of those that look like it, of those that
//! stand in one container, and of its two neighbours. How far was found by cross-validation.
use std::collections::HashMap;

use super::blocks::Flat;
use super::dom::{Dom, NodeId};
use super::features;

/// How far a block leans towards those of its pattern, of its container and beside it.
const TO_PATTERN: f32 = 0.3;
const TO_CONTAINER: f32 = 0.2;
const TO_NEIGHBOURS: f32 = 0.2;

/// Levels from a block's element up to what is called its container here.
const CONTAINER: usize = 3;

/// The chances of blocks, each moved towards those it belongs with.
pub(super) fn lean(dom: &Dom, flat: &[Flat], chances: &[f32]) -> Vec<f32> {
    let weights: Vec<f32> = flat.iter().map(|it| (it.words as f32).sqrt()).collect();
    let mut odds: Vec<f32> = chances.iter().map(|it| log_odds(*it)).collect();
    let patterns = features::patterns(dom, flat).into_iter();
    towards(&mut odds, &weights, patterns, TO_PATTERN);
    let containers = flat.iter().map(|it| container(dom, it.node));
    towards(&mut odds, &weights, containers, TO_CONTAINER);
    let beside: Vec<f32> = (0..odds.len())
        .map(|at| {
            let near = at.saturating_sub(1)..(at + 2).min(odds.len());
            let (sum, weight) = near.fold((0.0, 0.0), |all: (f32, f32), it| {
                (all.0 + odds[it] * weights[it], all.1 + weights[it])
            });
            sum / weight.max(1e-6)
        })
        .collect();
    for (odds, beside) in odds.iter_mut().zip(beside) {
        *odds += TO_NEIGHBOURS * (beside - *odds);
    }
    odds.iter().map(|it| 1.0 / (1.0 + (-it).exp())).collect()
}

fn log_odds(chance: f32) -> f32 {
    let chance = chance.clamp(1e-4, 1.0 - 1e-4);
    (chance / (1.0 - chance)).ln()
}

/// Moves each towards the mean of its group.
fn towards<K: std::hash::Hash + Eq>(
    odds: &mut [f32],
    weights: &[f32],
    groups: impl Iterator<Item = K>,
    share: f32,
) {
    let mut known: HashMap<K, usize> = HashMap::new();
    let mut sums: Vec<(f32, f32)> = Vec::new();
    let mut group_of = Vec::with_capacity(odds.len());
    for (at, group) in groups.enumerate() {
        let nth = *known.entry(group).or_insert(sums.len());
        if nth == sums.len() {
            sums.push((0.0, 0.0));
        }
        sums[nth].0 += odds[at] * weights[at];
        sums[nth].1 += weights[at];
        group_of.push(nth);
    }
    for (odds, group) in odds.iter_mut().zip(group_of) {
        let (sum, weight) = sums[group];
        *odds += share * (sum / weight.max(1e-6) - *odds);
    }
}

fn container(dom: &Dom, node: NodeId) -> NodeId {
    let up = std::iter::successors(Some(node), |it| dom.parent(*it));
    up.take(CONTAINER + 1).last().unwrap_or(node)
}
