//! Laws of the table: what every transformer must obey, a new one too.

use std::collections::BTreeSet;

use super::{
    trial::{World, living, paths},
    *,
};

#[test]
fn names_are_unique_and_every_transformer_owns_something() {
    let names: BTreeSet<_> = TRANSFORMERS.iter().map(|transformer| transformer.name).collect();
    assert_eq!(names.len(), TRANSFORMERS.len());
    assert!(TRANSFORMERS.iter().all(|transformer| !transformer.paths.is_empty()));
}

#[test]
fn no_two_transformers_own_the_same_path() {
    let owned: Vec<_> = owned_paths().collect();
    for (path, owner) in &owned {
        for (other, of) in &owned {
            let is_inside = path == other || other.starts_with(&format!("{path}."));
            assert!(owner == of || !is_inside, "{owner} owns {path}, and {of} owns {other} in it");
        }
    }
}

/// Runs one transformer alone, on a draft of those before it, and answers the leaves it changed.
fn changed_by(input: &RenderInput<'_>, which: &Transformer) -> BTreeSet<String> {
    let context = Context::new(input);
    let mut draft = Draft::default();
    for transformer in TRANSFORMERS.iter().take_while(|transformer| transformer.name != which.name) {
        run(transformer, &context, &mut draft).expect("rendered");
    }
    let before = draft.snapshot();
    run(which, &context, &mut draft).expect("rendered");
    let (after, _) = draft.finish();
    let before = paths(&before);
    paths(&after).into_iter().filter(|leaf| !before.contains(leaf)).map(|(path, _)| path).collect()
}

#[test]
fn a_transformer_writes_only_what_it_owns() {
    for world in World::all() {
        let created = render(&world.input(None)).expect("rendered").into_value();
        let lives = living(&created);
        for existing in [None, Some(&lives)] {
            let input = world.input(existing);
            for transformer in TRANSFORMERS {
                for leaf in changed_by(&input, transformer) {
                    let is_owned = |path: &str| {
                        leaf.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
                    };
                    assert!(transformer.paths.iter().any(|path| is_owned(path)), "{} writes {leaf}", transformer.name);
                }
            }
        }
    }
}

#[test]
fn every_transformer_writes_something_for_some_cluster() {
    let mut silent: BTreeSet<_> = TRANSFORMERS.iter().map(|transformer| transformer.name).collect();
    for world in World::all() {
        for transformer in TRANSFORMERS {
            if !changed_by(&world.input(None), transformer).is_empty() {
                silent.remove(transformer.name);
            }
        }
    }
    assert_eq!(silent, BTreeSet::new());
}

#[test]
fn what_was_rendered_once_is_rendered_again_from_the_shoot_it_made() {
    for world in World::all() {
        let created = render(&world.input(None)).expect("rendered").into_value();
        let lives = living(&created);
        let again = render(&world.input(Some(&lives))).expect("rendered");
        assert_eq!(again.notes(), []);
        // What was ours stays ours, with the same value: an apply that leaves a field out removes it.
        let again = paths(again.value());
        for leaf in paths(&created) {
            assert!(again.contains(&leaf), "{leaf:?} is given up by {}", world.name);
        }
    }
}

#[test]
fn rendering_is_the_same_every_time() {
    for world in World::all() {
        let input = world.input(None);
        assert_eq!(render(&input), render(&input));
        assert_eq!(input_hash(&input), input_hash(&input));
    }
}
