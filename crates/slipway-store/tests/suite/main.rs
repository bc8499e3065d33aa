//! One conformance suite for the storage port, on memory, SQLite and PostgreSQL.
//!
//! Each story is a function of a [`bed::Bed`]; the table below runs it on every store. `twins` goes
//! the other way round: it makes thousands of random calls on all stores at once and compares every
//! answer with that of the memory store. `races` and `opening` are about the databases themselves.

mod bed;
mod claims;
mod commits;
mod controls;
mod leases;
mod opening;
mod queue;
mod races;
mod reading;
mod runtime_bed;
mod runtime_history;
mod runtime_intents;
mod runtime_races;
mod runtime_secrets;
mod runtime_twins;
mod runtimes;
mod schemas;
mod twins;

/// Runs stories on every store.
macro_rules! on_every_store {
    ($($module:ident { $($story:ident,)+ })+) => {
        mod memory { $($(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() { crate::$module::$story(crate::bed::Bed::memory().await).await }
        )+)+ }
        mod sqlite { $($(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() { crate::$module::$story(crate::bed::Bed::sqlite().await).await }
        )+)+ }
        mod postgres { $($(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() { crate::$module::$story(crate::bed::Bed::postgres().await).await }
        )+)+ }
    };
}

on_every_store! {
    queue {
        an_accepted_operation_reads_back_as_it_was_given,
        the_same_id_is_inserted_once,
        removing_twice_is_one_removal_and_suspending_twice_one_suspension,
        a_removal_cancels_what_is_unfinished_and_goes_first,
        pending_operations_start_one_after_the_other_by_age,
        the_end_of_one_makes_the_next_due_and_tells_why,
        a_pending_operation_that_is_being_canceled_is_not_handed_out_twice,
        a_paused_pending_operation_is_not_woken_by_an_end,
    }
    claims {
        due_operations_come_in_order_of_their_time,
        a_class_gets_no_more_than_it_wants,
        blocked_operations_take_no_place_of_others,
        unknown_processes_are_left_for_programs_that_know_them,
        operations_that_no_registered_replica_can_run_are_counted,
        the_next_due_time_is_told_unless_more_is_due_now,
        an_unregistered_replica_gets_nothing,
        a_canceled_pending_operation_is_handed_out_without_starting,
        starting_raises_the_version_and_begins_the_budget_of_an_upgrade,
        a_parked_lease_comes_back_to_its_holder_only,
        due_operations_are_counted_per_class,
        a_pending_operation_is_handed_out_when_its_budget_ends,
    }
    commits {
        a_commit_writes_fields_ledger_and_recorder,
        a_repeated_commit_is_answered_again_and_written_once,
        a_repeated_end_is_answered_again,
        a_changed_version_is_a_conflict_and_writes_nothing,
        a_foreign_or_stale_lease_is_fenced,
        each_commit_of_a_group_is_answered_by_itself,
        two_commits_of_one_operation_in_a_group_are_refused,
        an_end_that_the_states_do_not_allow_is_refused,
        a_commit_of_an_unknown_operation_says_so,
        a_wait_ends_by_its_timer_or_its_event,
        an_event_before_the_wait_is_not_slept_over,
        an_event_once_seen_does_not_wake_again,
        a_wish_before_the_wait_is_not_slept_over,
        the_end_of_an_operation_wakes_who_waits_on_it,
        a_ledger_row_keeps_its_place_when_it_is_replaced,
        records_keep_their_order,
    }
    controls {
        an_update_needs_the_version_and_an_unfinished_operation,
        retry_now_makes_a_waiting_operation_due,
        a_pause_holds_and_a_resume_gives_the_time_back,
        a_paused_operation_sleeps_through_events_and_looks_when_resumed,
        a_skip_is_taken_only_for_a_step_that_is_not_settled,
        a_skip_is_cleared_unless_a_newer_wish_came,
        nothing_can_be_asked_of_a_finished_operation,
        every_action_is_on_record,
        a_refused_wish_keeps_nobody_from_claiming,
    }
    leases {
        heartbeats_count_and_show_the_others,
        a_dead_replica_is_given_up_and_its_work_is_due,
        a_replica_that_still_beats_is_not_given_up,
        a_released_replica_gives_everything_back,
        a_parked_operation_keeps_its_timer_when_its_holder_leaves,
        held_operations_can_be_surrendered_once,
        a_new_replica_is_told_the_time_of_the_others,
        a_heartbeat_held_up_on_its_way_does_not_set_the_time_back,
    }
    reading {
        operations_are_listed_newest_first_by_pages_and_filters,
        records_are_read_page_by_page,
        old_records_of_finished_operations_are_purged_in_batches,
        old_wake_ups_are_purged_and_new_ones_still_wake,
        an_unknown_operation_is_not_found,
        hints_come_with_news,
    }
    runtimes {
        an_accepted_provisioning_reads_back_as_it_was_given,
        a_repeat_after_a_lost_answer_is_answered_the_same_and_stored_once,
        an_operation_id_of_another_runtime_is_refused,
        a_second_request_is_told_the_operation_in_progress,
        a_name_is_taken_by_a_live_runtime_of_the_project_only,
        an_id_is_taken_by_a_live_runtime_and_free_after_its_tombstone,
        an_unknown_or_deleted_runtime_takes_no_request,
        revisions_are_only_added,
        a_tenant_moves_with_a_request_or_by_itself_and_is_on_record,
        a_tenant_that_moved_elsewhere_is_a_conflict_and_stores_nothing,
        texts_that_no_database_takes_are_refused_by_their_name,
        operations_of_the_broker_keep_their_own_rules,
        an_accepted_operation_is_claimed_like_any_other,
    }
    runtime_intents {
        an_intent_is_committed_with_its_runtime,
        an_intent_that_was_given_up_can_no_longer_be_committed,
        a_director_that_answers_late_leaves_something_to_take_back,
        open_intents_are_listed_oldest_first,
    }
    runtime_history {
        an_upgrade_remembers_both_configurations_and_can_be_rolled_back,
        only_an_upgrade_that_ended_and_is_the_latest_can_be_rolled_back,
        an_upgrade_without_kyma_is_refused_and_stores_nothing,
        a_tombstone_erases_the_secrets_and_keeps_the_history,
        old_tombstones_are_forgotten_in_batches,
        an_older_look_at_an_agent_never_replaces_a_newer_one,
        live_runtimes_are_walked_page_by_page,
        the_audit_log_is_read_page_by_page,
        operations_are_counted_by_process_and_state,
        the_latest_operation_is_the_one_accepted_last_whatever_the_clocks_said,
    }
}
