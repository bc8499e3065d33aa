//! Two texts line by line, as `diff -u` shows them, without the heads of files.

/// How many equal lines stand around a change.
const CONTEXT: usize = 3;

/// The difference; empty when there is none.
pub(super) fn between(before: &str, after: &str) -> String {
    let (before, after): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let lines = edits(&before, &after);
    let is_near = |at: usize| {
        let (from, to) = (at.saturating_sub(CONTEXT), (at + CONTEXT + 1).min(lines.len()));
        lines[from..to].iter().any(|(mark, _)| *mark != ' ')
    };
    let mut shown = String::new();
    let mut is_gap = true;
    for (at, (mark, line)) in lines.iter().enumerate() {
        if is_near(at) {
            if is_gap {
                shown.push_str("@@\n");
            }
            shown.push_str(&format!("{mark}{line}\n"));
        }
        is_gap = !is_near(at);
    }
    shown
}

/// Every line of both, with what happens to it. The longest common part stays.
fn edits<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<(char, &'a str)> {
    // The length of the longest common part of what follows; Shoots have some hundred lines.
    let mut longest = vec![vec![0_u32; after.len() + 1]; before.len() + 1];
    for (at, old) in before.iter().enumerate().rev() {
        for (to, new) in after.iter().enumerate().rev() {
            longest[at][to] =
                if old == new { longest[at + 1][to + 1] + 1 } else { longest[at + 1][to].max(longest[at][to + 1]) };
        }
    }
    let (mut at, mut to) = (0, 0);
    let mut lines = Vec::new();
    while at < before.len() || to < after.len() {
        if at < before.len() && to < after.len() && before[at] == after[to] {
            lines.push((' ', before[at]));
            (at, to) = (at + 1, to + 1);
        } else if at < before.len() && (to == after.len() || longest[at + 1][to] >= longest[at][to + 1]) {
            lines.push(('-', before[at]));
            at += 1;
        } else {
            lines.push(('+', after[to]));
            to += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_shown_with_a_little_around_it() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
        let after = "a\nb\nc\nd\nE\nf\ng\nh\ni\nj\nk\n";
        assert_eq!(between(before, after), "@@\n b\n c\n d\n-e\n+E\n f\n g\n h\n i\n j\n+k\n");
        assert_eq!(between(before, &before.replace('a', "A")), "@@\n-a\n+A\n b\n c\n d\n");
    }

    #[test]
    fn the_same_is_nothing() {
        assert_eq!(between("a\nb\n", "a\nb\n"), "");
        assert_eq!(between("", "a\n"), "@@\n+a\n");
    }
}
