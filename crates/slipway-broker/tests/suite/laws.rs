//! What every table of the broker obeys, those still to come included.

use slipway_broker::{Broker, processes::TABLES, registry};
use slipway_engine::laws::Laws;

pub(crate) static LAWS: Laws<Broker> = Laws { krate: "slipway-broker", tables: TABLES };

#[test]
fn every_table_can_be_run() {
    assert_eq!(registry().expect("all tables are right").processes().count(), TABLES.len());
}

#[test]
fn the_names_in_the_tables_are_the_pinned_ones() {
    LAWS.assert_names_are_pinned();
}

#[test]
fn every_step_has_a_name_and_a_file_of_its_own_and_every_file_is_used_by_a_table() {
    LAWS.assert_steps_and_files_match();
}

#[test]
fn every_step_file_says_why_it_is_there_why_a_repeat_is_harmless_and_when_it_gives_up() {
    LAWS.assert_step_files_give_their_reasons();
}
