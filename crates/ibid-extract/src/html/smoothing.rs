//! Smooths the probabilities of blocks that belong together.
//!
//! The trees look at each block by itself and are sometimes wrong about a single item of a list or paragraph. So each
//! probability is moved towards the mean of the blocks with the same pattern, of those in the same container, and of its two
//! neighbours. The shares were found by cross-validation.
use std::collections::HashMap;

use super::blocks::FlatBlock;
use super::dom::{Dom, NodeId};
use super::features;

/// How far a block moves towards those of its pattern, of its container and beside it.
const TO_PATTERN: f32 = 0.3;
const TO_CONTAINER: f32 = 0.2;
const TO_NEIGHBOURS: f32 = 0.2;

/// Levels from a block's element up to its container.
const CONTAINER_LEVELS: usize = 3;

/// The smoothed probabilities.
pub(super) fn smooth(dom: &Dom, flat: &[FlatBlock], chances: &[f32]) -> Vec<f32> {
    let weights: Vec<f32> = flat.iter().map(|block| (block.words as f32).sqrt()).collect();
    let mut odds: Vec<f32> = chances.iter().map(|number| log_odds(*number)).collect();
    let patterns = features::patterns(dom, flat).into_iter();
    pull_to_group_mean(&mut odds, &weights, patterns, TO_PATTERN);
    let containers = flat.iter().map(|block| container(dom, block.node));
    pull_to_group_mean(&mut odds, &weights, containers, TO_CONTAINER);
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
    odds.iter().map(|number| 1.0 / (1.0 + (-number).exp())).collect()
}

fn log_odds(chance: f32) -> f32 {
    let chance = chance.clamp(1e-4, 1.0 - 1e-4);
    (chance / (1.0 - chance)).ln()
}

/// Moves each value by `share` towards the weighted mean of its group.
fn pull_to_group_mean<K: std::hash::Hash + Eq>(
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
    up.take(CONTAINER_LEVELS + 1).last().unwrap_or(node)
}
