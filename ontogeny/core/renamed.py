"""Old names and what they are called now: an old name gets an error that names the new one."""

from collections.abc import Collection
from itertools import product

CLAIMS: dict[str, str] = {
    # abstract symbols
    "same_or_different_of_unseen_symbols": (
        "transformers_tell_same_from_different_on_unseen_symbols"
    ),
    "an_identity_makes_symbols_abstract": "a_kq_identity_generalizes_to_unseen_variable_names",
    "programs_are_understood_with_far_fewer_samples": (
        "a_kq_identity_cuts_the_samples_for_unseen_variable_names"
    ),
    "symbols_are_answered_with_far_fewer_samples": (
        "both_identities_cut_the_samples_for_symbolic_answers"
    ),
    "an_identity_repairs_copying_at_every_width": "a_vo_identity_repairs_copying_at_every_width",
    "told_which_tokens_are_equal_an_mlp_generalises": "an_mlp_given_token_equalities_generalizes",
    "an_identity_helps_with_majorities": "a_kq_identity_helps_with_majorities",
    "kernel_regression_understands_unseen_symbols": (
        "kernel_regression_generalizes_to_unseen_symbols"
    ),
    "diversity_is_what_lets_it_generalise": "symbol_diversity_lets_kernel_regression_generalize",
    "every_template_task_is_learnt_with_enough_samples": (
        "more_samples_lower_the_error_on_every_template_task"
    ),
    "a_singular_matrix_prevents_generalisation": (
        "a_singular_template_matrix_prevents_generalization"
    ),
    "an_identity_begins_to_copy_at_any_width": "a_vo_identity_begins_to_copy_at_any_width",
    "perceptrons_cannot_tell_unseen_strings_apart": "mlps_cannot_tell_unseen_strings_apart",
    "depth_helps": "two_layers_need_fewer_samples_than_one",
    "heads_help": "more_heads_need_fewer_samples",
    "large_embeddings_hurt": "large_embeddings_need_more_samples",
    "large_rates_never_learn": "large_learning_rates_do_not_generalize",
    "small_batches_help": "small_batches_generalize_sooner",
    "heads_that_start_near_identity_help": "mimetic_initialization_cuts_the_samples",
    "regular_tokens_make_it_easy": "regular_tokens_cut_the_samples",
    "length_hardly_matters": "template_length_hardly_matters",
    "the_matrix_of_templates_predicts_how_many_samples": (
        "the_template_matrix_predicts_sample_complexity"
    ),
    "tasks_that_theory_finds_harder_take_transformers_longer": (
        "predicted_sample_complexity_ranks_tasks_for_transformers"
    ),
    "pretraining_makes_words_abstract": "pretraining_generalizes_templates_to_unseen_words",
    # chain of thought
    "a_cyclic_group_reaches_farther_than_a_symmetric_one": (
        "c6_generalizes_farther_in_length_than_s5"
    ),
    "answers_of_its_own_extend_a_symmetric_group": (
        "self_training_extends_length_generalization_on_s5"
    ),
    "without_a_chain_of_thought_it_guesses": "without_chain_of_thought_accuracy_stays_near_chance",
    "with_a_stream_both_groups_reach_as_far": (
        "with_a_residual_stream_both_groups_generalize_as_far"
    ),
    "with_a_stream_answers_of_its_own_extend_it": (
        "self_training_extends_length_generalization_with_a_residual_stream"
    ),
    "positions_hold_a_chain_to_the_length_taught": (
        "nope_generalizes_in_length_and_positions_do_not"
    ),
    "retrieval_goes_by_variable_and_not_by_place": (
        "retrieval_goes_by_variable_and_not_by_position"
    ),
    "predicates_are_lost_along_a_symmetric_chain": "attention_to_predicates_falls_along_s5_chains",
    "answers_are_lost_along_a_cyclic_chain": "attention_to_the_answer_falls_along_c6_chains",
    "counting_clauses_predicts_what_attention_loses": "counting_clauses_predicts_attention_leakage",
    "two_short_lessons_reach_long_chains": (
        "training_on_one_and_two_steps_generalizes_to_long_chains"
    ),
    "answering_itself_a_model_doubles_its_reach": "self_training_doubles_the_solved_length",
    "chains_of_two_alone_do_not_reach_the_longest": (
        "training_on_chains_of_two_fails_at_the_longest"
    ),
    "four_numbers_say_what_attention_learns": "four_numbers_predict_what_attention_learns",
    "what_begins_larger_is_learnt_first": "larger_initial_responses_are_learnt_first",
    "sentences_that_come_again_make_the_contrast": (
        "on_a_fixed_training_set_cyclic_groups_generalize_farther"
    ),
    "with_new_sentences_a_stream_decides": "on_fresh_samples_the_residual_stream_decides",
    "more_values_reach_farther": "more_values_generalize_farther_in_length",
    "more_actions_on_as_many_values_reach_less_far": (
        "more_actions_on_as_many_values_generalize_less_far"
    ),
    # feature resemblance
    "without_bridges_no_two_hops_in_one_layer": "without_bridges_two_hops_fail_in_one_layer",
    "without_bridges_no_two_hops_in_gpt2": "without_bridges_two_hops_fail_in_gpt2",
    "order_matters_when_a_pretrained_model_is_told": (
        "curriculum_order_matters_for_a_pretrained_model"
    ),
    "telling_makes_pairs_more_alike_than_strangers": "finetuning_aligns_pairs_more_than_strangers",
    "likeness_adds_to_what_attribution_teaches": "similarity_premises_add_to_attribution",
    "order_matters_for_names_that_nobody_knows": "curriculum_order_matters_for_made_up_names",
    "what_remains_is_the_competition_of_answers": (
        "late_similarity_leaves_a_cosine_set_by_the_vocabulary"
    ),
    # identity bridge
    "with_identity_the_smallest_templates_compose": "with_identity_minimal_nuclear_norm_composes",
    "without_identity_the_smallest_templates_compose_nothing": (
        "without_identity_minimal_nuclear_norm_does_not_compose"
    ),
    "the_program_without_symmetry_says_the_same": (
        "the_convex_program_agrees_without_assuming_symmetry"
    ),
    "descent_seeks_the_smallest_templates": ("gradient_descent_converges_to_minimal_nuclear_norm"),
    "second_hop_and_identity_are_both_tight": "second_hop_and_identity_constraints_are_tight",
    "small_initialisation_slows_the_decline": (
        "small_initialisation_slows_the_decline_with_complexity"
    ),
    "small_initialisation_slows_the_decline_of_true_composition": (
        "small_initialisation_slows_the_decline_with_complexity"
    ),
    "small_initialisation_restores_composition": (
        "small_initialisation_restores_two_hop_composition"
    ),
    "small_initialisation_slows_the_decline_without_a_shortcut": (
        "small_initialisation_slows_the_decline_with_complexity"
    ),
    "a_wrong_identity_misleads_only_its_own_bridge": "wrong_identities_mislead_other_bridges_too",
    "identity_works_best_without_a_relation": (
        "identity_works_best_with_the_first_relation_in_gpt2"
    ),
    "layers_keep_distances_and_add_what_is_shared": (
        "layers_lengthen_what_is_shared_more_than_distances"
    ),
    "weight_decay_restores_composition": "weight_decay_restores_two_hop_composition",
    "identity_helps_only_the_bridges_it_is_told_of": "identity_helps_only_the_bridges_it_covers",
    "shown_compositions_do_not_replace_identity": (
        "compositions_in_training_do_not_replace_identity"
    ),
    "identity_carries_two_hops_and_no_more_in_the_embedding_mlp": (
        "identity_composes_two_hops_and_no_more_in_the_embedding_mlp"
    ),
    "the_smallest_templates_carry_two_hops_and_no_more": (
        "minimal_nuclear_norm_composes_two_hops_and_no_more"
    ),
    "the_nuclear_norm_implies_and_the_frobenius_norm_does_not": (
        "the_nuclear_norm_draws_implications_and_the_frobenius_norm_does_not"
    ),
    "factors_imply_and_their_product_does_not": (
        "factorised_attention_draws_implications_and_merged_does_not"
    ),
    "few_directions_suffice_to_imply": "a_small_head_dimension_suffices_for_implications",
    "few_numbers_say_when_two_hops_compose": "forty_numbers_predict_when_two_hops_compose",
    "single_hops_raise_the_object_without_the_bridge": (
        "finetuning_on_single_hops_raises_the_object_without_the_bridge"
    ),
    "it_is_this_object_that_rises": "finetuning_raises_the_object_above_others_of_its_kind",
    # mechanisms
    "a_layered_memory_stores_as_much_as_it_has_parameters": (
        "an_mlp_stores_as_much_as_it_has_parameters"
    ),
    "keys_wait_for_outputs": "outputs_are_learnt_alone_and_keys_are_not",
    "triggers_of_each_sequence_are_matched_too": "random_triggers_are_matched_too",
    "mixtures_teach_hops_that_are_read_at_the_end": (
        "hops_read_after_the_last_layer_are_learnt_from_a_mixture"
    ),
    "a_mixture_costs_in_proportion_to_hops": "steps_on_a_mixture_grow_about_linearly_with_hops",
    "truncation_turns_the_into_the_answer": "truncating_the_right_late_layer_favours_the_answer",
    "only_easy_examples_teach_hard_ones": "hard_hops_are_learnt_only_with_easy_ones",
    "an_induction_head_can_be_written_down": "an_induction_head_can_be_constructed",
}

CLASSES = {
    "Able": "RequireAccuracy",
    "ChainAdam": "ChainAdamW",
    "ChainDescent": "ChainGradientDescent",
    "Concentration": "AttentionLeakage",
    "Course": "Trainer",
    "Descent": "GradientDescent",
    "Error": "ErrorRate",
    "EvenAttention": "UniformAttention",
    "Invalid": "ConfigError",
    "LayeredMemory": "MLPMemory",
    "NoiseChance": "NoiseProbability",
    "ObjectSuccess": "ObjectAccuracy",
    "PreviousToken": "PreviousTokenScore",
    "Success": "Accuracy",
    "TruncatedSuccess": "TruncatedAccuracy",
    "Unaided": "RolloutAccuracy",
    "UnaidedByStep": "RolloutAccuracyByStep",
    "WholeSuccess": "SequenceAccuracy",
}

COMMANDS = {"vary": "sweep", "real": "llm"}

FIELDS = {
    "regime": "training",
    "rate": "learning_rate",
    "decay": "weight_decay",
    "memory1": "b1",
    "memory2": "b2",
    "memory": "momentum",
    "looks": "evaluations",
    "parts": "trainable or shards",
    "part": "head_dim",
    "hidden": "mlp_width",
    "match": "kq_identity",
    "copy": "vo_identity",
    "batch": "batch_size",
    "places": "positions",
    "held": "test_rows",
    "shown": "in_training",
    "known": "train_size",
    "widening": "mlp_ratio",
    "letters": "tokens_per_entity",
    "weight": "ridge",
    "thought": "chain_of_thought",
    "neurons": "mlp_width or neurons_per_class",
    "first": "mlp1",
    "last": "mlp2",
}
"""Parts of a field's path, such as the `rate` of `regime.0.rate`; some became one of two."""


def now(old: str, known: Collection[str]) -> str:
    """What an old claim, or field, or path to a field, is called now among the known ones; nothing
    if it is none of these."""
    words = (FIELDS.get(word, word).split(" or ") for word in old.split("."))
    names = [CLAIMS.get(old, ""), *map(".".join, product(*words))]
    return next((name for name in names if name in known and name != old), "")
