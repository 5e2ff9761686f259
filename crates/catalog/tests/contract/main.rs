//! One suite, every backend: each promise is an ordinary function over the seam.

use std::sync::Arc;

use catalog::{Catalog, Settings};
use testkit::{Clock, Place};

mod admission;
mod audit;
mod awaited;
mod canceled;
mod elsewhere;
mod flow;
mod folder;
mod generations;
mod jobs;
mod leases;
mod lists;
mod missing;
mod noted;
mod operations;
mod order;
mod paused;
mod purge;
mod renamed;
mod said;
mod shared;
mod standing;
mod switched;
mod unattended;
mod under_way;
mod units;
mod unreadable;
mod upgrades;
mod world;

use world::World;

async fn sqlite(folder: &tempfile::TempDir) -> World {
    let url = format!("sqlite://{}", folder.path().join("catalog.db").display());
    world(Settings::new(url)).await
}

async fn postgres() -> World {
    world(Settings::new(testkit::postgres().await)).await
}

async fn world(settings: Settings) -> World {
    let catalog: Arc<dyn Catalog> = catalog::open(&settings).await.expect("the catalog opens");
    let clock = Clock::default();
    let place: Place = testkit::place(&*catalog, clock.now())
        .await
        .expect("a first start");
    World {
        url: settings.url,
        catalog,
        clock,
        place,
    }
}

macro_rules! promises {
    ($($module:ident::$promise:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $promise() {
                let folder = tempfile::tempdir().unwrap();
                crate::$module::$promise(&crate::sqlite(&folder).await).await;
            })*
        }

        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $promise() {
                crate::$module::$promise(&crate::postgres().await).await;
            })*
        }
    };
}

promises! {
    flow::a_document_goes_from_admission_to_answering,
    flow::a_version_without_units_goes_straight_to_finalize,
    units::of_sixteen_units_at_once_one_is_last_and_stays_the_last,
    units::a_repeated_prep_opens_a_pass_and_silences_the_one_before,
    units::an_answer_that_was_lost_is_given_again,
    admission::sixty_four_admissions_of_the_same_bytes_make_one_run,
    admission::bytes_that_serve_are_skipped_and_bytes_that_served_are_not,
    admission::what_is_anothers_is_unknown,
    admission::a_nul_in_what_a_document_says_of_itself_is_no_obstacle,
    admission::an_address_is_as_long_as_any_database_takes_and_no_longer,
    admission::metadata_too_long_to_be_looked_up_is_no_obstacle,
    leases::no_step_is_handed_out_twice,
    leases::a_worker_that_overslept_its_lease_changes_nothing,
    leases::a_lease_that_was_ended_is_taken_over_at_once,
    leases::what_a_clock_ahead_put_off_is_due_once_it_is_set_back,
    leases::a_lease_by_a_clock_ahead_ends_no_later_than_one_given_now,
    leases::waiting_is_not_failing_and_failing_ends_among_the_dead_letters,
    leases::a_letter_replayed_again_is_answered_as_the_first_time,
    leases::a_document_at_fault_leaves_no_work,
    leases::work_that_went_missing_is_recreated_where_the_run_stands,
    leases::a_step_made_again_blames_nobody_for_the_others_of_its_run,
    leases::a_run_that_lost_its_version_is_not_waited_for,
    admission::a_number_is_not_given_twice_whatever_became_of_the_count,
    unreadable::a_step_nobody_can_read_is_made_again_and_holds_up_no_other,
    unreadable::a_step_that_can_never_be_read_ends_among_the_dead_letters,
    unreadable::a_job_nobody_can_read_holds_up_no_other,
    unreadable::a_step_that_says_another_is_made_again,
    unreadable::a_run_that_cannot_be_ended_keeps_no_other_from_it,
    unreadable::a_run_that_began_at_no_time_keeps_no_other_from_beginning,
    unreadable::a_list_is_shown_without_what_nobody_can_read,
    unreadable::what_nothing_else_tells_of_is_put_back_where_it_cannot_be_read,
    unreadable::a_job_of_nobody_keeps_no_other_from_being_listed,
    unreadable::what_is_no_id_hides_nothing_else_and_is_told,
    unreadable::events_go_on_after_a_count_of_them_that_was_set_back,
    unattended::a_run_is_claimed_by_itself_and_each_of_its_steps_once,
    unattended::a_run_nobody_is_at_is_found_and_says_why_it_waits,
    unattended::a_run_of_a_paused_job_waits_for_nobody,
    unattended::a_run_is_buried_only_while_nobody_is_at_it,
    order::an_older_version_that_finishes_late_is_superseded,
    order::a_late_finisher_does_not_undo_a_rollback,
    order::a_rollback_holds_until_new_bytes_arrive,
    order::bytes_shown_again_stand_where_they_were_shown_again,
    order::a_removed_document_returns_only_with_what_came_after,
    order::what_is_shown_again_while_under_way_answers_though_it_was_removed,
    order::what_came_after_a_removal_answers_though_it_lost_its_row,
    order::nothing_older_replaces_what_a_removed_document_was_rolled_back_to,
    order::history_can_be_read_rolled_back_and_proven,
    generations::a_generation_is_built_beside_the_one_that_serves,
    generations::a_time_before_the_switch_says_what_it_cannot_answer,
    generations::a_copy_under_way_when_its_document_was_removed_answers_for_nothing_since,
    generations::nothing_is_rolled_back_to_what_does_not_serve_yet,
    generations::what_serves_is_mirrored_whatever_becomes_of_it_meanwhile,
    generations::a_rollback_holds_in_the_next_generation_too,
    generations::a_rollback_to_what_is_built_already_holds_in_the_next_generation,
    generations::runs_under_way_are_taken_along_by_the_switch,
    generations::a_document_that_cannot_be_built_holds_the_switch_back,
    generations::an_abandoned_generation_leaves_nothing,
    order::a_clock_that_jumps_back_leaves_history_in_order,
    order::a_document_removed_by_a_clock_ahead_returns_after_it_is_set_back,
    order::a_removal_by_a_clock_set_back_comes_after_what_was_there,
    standing::a_paused_job_says_whether_files_are_still_taken_in,
    standing::a_listing_that_was_interrupted_says_why_until_it_goes_on,
    standing::a_job_resumed_after_a_restart_waits_for_a_worker,
    jobs::the_cursor_moves_with_the_batch_and_counters_add_up,
    jobs::a_job_says_what_became_of_everything_it_met,
    jobs::a_source_is_at_the_job_under_way_and_a_refused_start_makes_none,
    jobs::a_listing_that_was_taken_over_cannot_move_the_cursor,
    jobs::what_a_source_shows_no_more_is_found,
    jobs::a_job_tells_what_changed_and_what_was_let_go_is_not_current,
    canceled::cancel_takes_what_only_the_job_brought,
    canceled::a_run_that_ended_stays_as_it_ended_while_another_claims_it,
    canceled::what_came_too_late_for_a_canceled_job_answers_after_all,
    canceled::a_rollback_outlives_the_cancel_of_what_it_turned_back,
    missing::what_a_canceled_job_removed_answers_again,
    missing::a_removal_another_job_has_a_part_in_outlives_a_cancel,
    missing::what_came_after_a_removal_stays_when_it_is_taken_back,
    missing::whoever_lists_no_more_removes_nothing,
    missing::what_is_under_way_does_not_answer_when_its_file_is_gone,
    missing::what_is_under_way_answers_when_its_file_is_back,
    missing::what_comes_back_and_is_gone_before_it_answers_stays_gone,
    awaited::a_job_waits_for_what_another_has_under_way_and_says_for_what,
    awaited::what_a_job_waited_for_is_its_own_when_the_other_is_canceled,
    awaited::a_failure_is_told_by_everyone_who_waited_and_taken_back_by_a_retry,
    canceled::a_run_others_wait_for_survives_the_cancel_of_its_job,
    canceled::a_cancel_gives_nobody_a_run_that_was_theirs_already,
    canceled::a_cancel_beside_another_job_at_work_takes_nothing_of_it,
    jobs::what_stops_at_the_gate_of_a_paused_job_has_not_begun,
    jobs::a_paused_job_is_left_alone_until_it_is_resumed,
    paused::a_resumed_job_hastens_nothing_that_waits_for_anything_else,
    jobs::a_job_that_counted_wrongly_is_put_right,
    jobs::who_listed_a_job_before_it_began_anew_lists_it_no_more,
    jobs::a_letter_from_before_a_job_began_anew_takes_nothing_from_its_counters,
    shared::whatever_is_asked_in_whatever_order_every_job_counts_right_and_ends,
    shared::jobs_at_work_at_the_same_time_count_right_and_end,
    lists::every_list_comes_in_pages,
    lists::a_cursor_stays_where_it_was_whatever_comes_and_goes,
    operations::events_come_in_the_order_of_commits,
    operations::a_request_made_twice_is_answered_once,
    operations::a_purged_document_leaves_its_ledger_and_nothing_else,
    purge::what_outlives_a_purged_document_does_not_name_it,
    purge::what_was_gone_before_a_purge_does_not_name_it_either,
    purge::what_a_cancel_emptied_is_purged_with_what_came_again_under_its_address,
    purge::what_was_canceled_before_goes_though_the_file_comes_anew_during_a_purge,
    purge::a_canceled_job_over_a_folder_may_start_again_after_the_purge_of_one_file,
    purge::what_came_since_a_purge_began_is_no_residue_of_it,
    operations::an_original_is_free_when_no_version_refers_to_it,
    operations::an_original_is_kept_for_a_run_that_never_answered,
    operations::status_counts_what_there_is,
    operations::a_tally_that_was_tampered_with_is_told_and_put_right,
    operations::accounts_are_kept_apart,
    operations::a_key_opens_nothing_while_its_maker_is_disabled,
    operations::a_disabled_tenant_lets_nobody_in_and_its_work_goes_on,
    operations::what_ends_is_on_its_way_to_who_asked_until_it_has_arrived,
    folder::a_catalog_belongs_to_the_first_folder_that_opens_it,
    folder::of_many_folders_at_once_one_has_the_catalog,
    said::a_canceled_job_has_said_nothing_of_what_stays,
    said::whoever_finds_a_version_that_was_copied_claims_the_copy_too,
    said::what_a_rollback_turned_away_is_claimed_where_it_came_and_where_it_was_copied,
    switched::a_job_tells_what_it_met_once_whatever_was_copied,
    switched::what_a_cancel_leaves_in_a_retired_generation_answers_in_the_serving_one,
    switched::what_came_too_late_before_a_switch_answers_after_it_when_that_is_taken_back,
    switched::what_was_removed_before_a_switch_answers_after_it_when_that_is_taken_back,
    switched::what_was_removed_under_way_answers_after_a_switch_when_that_is_taken_back,
    switched::what_came_after_a_removal_answers_after_a_switch_when_what_replaced_it_is_taken_back,
    switched::a_copy_that_failed_is_no_failure_of_a_job_that_met_the_document,
    noted::a_failed_version_is_noted_until_it_is_tried_again,
    noted::rows_that_were_changed_are_known_and_put_back,
    noted::a_document_that_was_changed_is_known_and_put_back,
    noted::a_run_that_was_changed_or_lost_is_known_and_put_back,
    noted::a_job_that_was_changed_or_lost_is_known_and_put_back,
    noted::a_note_that_names_nobody_is_dropped,
    elsewhere::a_row_that_says_it_is_another_documents_is_missed_by_its_own_alone,
    elsewhere::a_row_that_says_it_is_another_tenants_is_missed_by_its_own_alone,
    elsewhere::a_document_is_no_other_tenants_whatever_one_of_its_rows_says,
    renamed::a_version_or_a_run_gets_its_own_id_back,
    renamed::of_what_is_under_way_no_row_is_taken_for_another,
    renamed::a_job_gets_its_own_id_back_with_all_it_counted,
    renamed::a_knowledge_base_gets_back_its_own_id_or_its_note,
    renamed::a_lost_knowledge_base_is_not_made_a_second_time,
    renamed::a_lost_version_gets_back_its_number_though_another_has_it,
    renamed::a_note_of_nobody_is_known_and_goes,
    renamed::a_document_has_one_note_of_its_row,
    under_way::what_is_under_way_is_known_by_two_of_its_rows_and_goes_on,
    audit::putting_right_what_is_right_changes_nothing,
    audit::a_lost_upload_that_was_never_read_is_called_as_it_was,
    audit::the_sources_order_of_a_version_is_told_thrice,
    audit::what_came_too_late_by_a_changed_place_answers_once_that_is_right,
    audit::a_job_that_has_miscounted_is_told_and_put_right,
    audit::a_copy_for_another_generation_is_no_newer_version,
    audit::what_a_job_met_outlives_the_notes_of_its_batches,
    audit::what_follows_on_a_lost_end_of_a_ledger_leaves_it_broken,
    audit::an_end_of_a_ledger_that_was_changed_is_not_taken_for_a_lost_one,
    audit::a_row_keeps_the_end_its_ledger_has_lost_whatever_else_is_mended,
    audit::a_document_takes_over_what_came_under_its_address,
    standing::a_run_that_waits_says_for_what_and_one_that_failed_what_to_do,
    standing::a_job_says_whether_it_runs_waits_pauses_or_stalls,
    upgrades::what_any_older_release_left_goes_on_where_it_was,
}
