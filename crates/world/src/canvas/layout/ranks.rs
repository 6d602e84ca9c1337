//! Which layer each node stands on. Edges that would close a cycle are turned round for this.

/// Layers by node, and the edges as they lead from a lower layer to a higher one.
pub struct Ranked {
    pub rank: Vec<usize>,
    /// Without loops on one node.
    pub edges: Vec<(usize, usize)>,
}

pub fn ranks(count: usize, edges: &[(usize, usize)]) -> Ranked {
    let edges = without_cycles(count, edges);
    let (mut out, mut into) = (vec![Vec::new(); count], vec![0usize; count]);
    for (from, to) in &edges {
        if let (Some(out), Some(into)) = (out.get_mut(*from), into.get_mut(*to)) {
            out.push(*to);
            *into += 1;
        }
    }
    let mut waits = into.clone();
    let mut order: Vec<usize> = (0..count).filter(|at| waits.get(*at) == Some(&0)).collect();
    let mut rank = vec![0usize; count];
    let mut next = 0;
    while let Some(at) = order.get(next).copied() {
        next += 1;
        let below = rank.get(at).copied().unwrap_or(0) + 1;
        for to in out.get(at).into_iter().flatten() {
            if let (Some(rank), Some(waits)) = (rank.get_mut(*to), waits.get_mut(*to)) {
                *rank = below.max(*rank);
                *waits -= 1;
                if *waits == 0 {
                    order.push(*to);
                }
            }
        }
    }
    // A node that mostly leads on stands near what it leads to, or its edges would be needlessly long.
    for at in order.iter().rev() {
        let targets = out.get(*at).map_or(&[][..], Vec::as_slice);
        let nearest = targets.iter().filter_map(|to| rank.get(*to)).min().copied();
        let leads_on = into.get(*at).is_some_and(|into| *into < targets.len());
        if let (true, Some(nearest), Some(rank)) = (leads_on, nearest, rank.get_mut(*at)) {
            *rank = nearest.saturating_sub(1).max(*rank);
        }
    }
    let first = rank.iter().min().copied().unwrap_or(0);
    rank.iter_mut().for_each(|rank| *rank -= first);
    Ranked { rank, edges }
}

#[derive(Clone, Copy, PartialEq)]
enum Visit {
    Not,
    Open,
    Done,
}

/// Depth first in the order of the file, from nodes that nothing leads to; an edge back to an open node is turned.
fn without_cycles(count: usize, edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut has_source = vec![false; count];
    for (number, (from, to)) in edges.iter().enumerate() {
        if from != to
            && let (Some(out), Some(has_source)) = (out.get_mut(*from), has_source.get_mut(*to))
        {
            out.push(number);
            *has_source = true;
        }
    }
    let mut turned = vec![false; edges.len()];
    let mut visits = vec![Visit::Not; count];
    let roots = (0..count).filter(|at| has_source.get(*at) == Some(&false)).chain(0..count);
    for root in roots {
        // A stack of our own: chains may be as long as the canvas.
        let mut stack = vec![(root, 0usize)];
        if visits.get(root) != Some(&Visit::Not) {
            continue;
        }
        while let Some((at, next)) = stack.last_mut() {
            if let Some(visit) = visits.get_mut(*at) {
                *visit = Visit::Open;
            }
            let Some(number) = out.get(*at).and_then(|out| out.get(*next)).copied() else {
                if let Some(visit) = visits.get_mut(*at) {
                    *visit = Visit::Done;
                }
                stack.pop();
                continue;
            };
            *next += 1;
            let to = edges.get(number).map_or(root, |(_, to)| *to);
            match visits.get(to) {
                Some(Visit::Not) => stack.push((to, 0)),
                Some(Visit::Open) => turned.get_mut(number).into_iter().for_each(|turned| *turned = true),
                _ => {}
            }
        }
    }
    let straight = edges.iter().zip(turned).filter(|((from, to), _)| from != to);
    straight.map(|((from, to), turned)| if turned { (*to, *from) } else { (*from, *to) }).collect()
}
