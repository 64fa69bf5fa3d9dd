// abi.h - where the fields of every public struct lie, as bindings have learned it: on 64-bit systems, on 32-bit x86, where 8-byte numbers
// are aligned to 4, and on other 32-bit systems. Recorded with gcc for x86-64 (aarch64 is the same), i686 and armhf. A line that no longer
// holds is a binding that breaks: change it only with the version. llm_stats_info and llm_plan_info may grow at their end.
#ifndef ABI_H
#define ABI_H

#define ABI_STRUCTS(S) \
    S(llm_error, 256, 256, 256) S(llm_allocator, 24, 12, 12) S(llm_reader, 24, 16, 24) S(llm_logger, 16, 8, 8) \
    S(llm_progress, 16, 8, 8) S(llm_parallel, 16, 8, 8) S(llm_clock, 16, 8, 8) S(llm_model_desc, 136, 84, 88) \
    S(llm_type_use, 40, 32, 32) S(llm_info, 2072, 1656, 1656) S(llm_bias, 8, 8, 8) S(llm_sampling, 64, 52, 56) \
    S(llm_ctx_desc, 136, 96, 104) S(llm_message, 16, 8, 8) S(llm_stats_info, 672, 616, 640) S(llm_plan_info, 464, 448, 456) \
    S(llm_finding, 536, 528, 536) S(llm_tensor_info, 80, 68, 72)

#define ABI_FIELDS(F) \
    F(llm_error, code, 0, 0, 0) F(llm_error, text, 4, 4, 4) F(llm_allocator, user, 0, 0, 0) F(llm_allocator, alloc_fn, 8, 4, 4) \
    F(llm_allocator, free_fn, 16, 8, 8) F(llm_reader, user, 0, 0, 0) F(llm_reader, size, 8, 4, 8) F(llm_reader, read_at, 16, 12, 16) \
    F(llm_logger, user, 0, 0, 0) F(llm_logger, log_fn, 8, 4, 4) F(llm_progress, user, 0, 0, 0) F(llm_progress, progress_fn, 8, 4, 4) \
    F(llm_parallel, user, 0, 0, 0) F(llm_parallel, for_fn, 8, 4, 4) F(llm_clock, user, 0, 0, 0) F(llm_clock, now_us, 8, 4, 4) \
    F(llm_model_desc, allocator, 0, 0, 0) F(llm_model_desc, logger, 24, 12, 12) F(llm_model_desc, progress, 40, 20, 20) \
    F(llm_model_desc, parallel, 56, 28, 28) F(llm_model_desc, clock, 72, 36, 36) F(llm_model_desc, n_threads, 88, 44, 44) \
    F(llm_model_desc, isa, 92, 48, 48) F(llm_model_desc, cores, 96, 52, 52) F(llm_model_desc, mapping, 100, 56, 56) \
    F(llm_model_desc, parts, 104, 60, 60) F(llm_model_desc, n_parts, 112, 64, 64) F(llm_model_desc, force, 116, 68, 68) \
    F(llm_model_desc, cpu_share, 120, 72, 72) F(llm_model_desc, host_gb_s, 128, 76, 80) F(llm_type_use, gguf_type, 0, 0, 0) \
    F(llm_type_use, name, 8, 4, 4) F(llm_type_use, n_weights, 16, 8, 8) F(llm_type_use, n_bytes, 24, 16, 16) \
    F(llm_type_use, accelerated, 32, 24, 24) F(llm_type_use, reserved, 36, 28, 28) F(llm_info, struct_bytes, 0, 0, 0) \
    F(llm_info, arch, 8, 4, 4) F(llm_info, name, 16, 8, 8) F(llm_info, size_label, 24, 12, 12) F(llm_info, vocab_type, 32, 16, 16) \
    F(llm_info, pre_tokenizer, 40, 20, 20) F(llm_info, text_status, 48, 24, 24) F(llm_info, text_reason, 56, 28, 28) \
    F(llm_info, n_vocab, 64, 32, 32) F(llm_info, n_ctx_train, 68, 36, 36) F(llm_info, n_embd, 72, 40, 40) \
    F(llm_info, n_layer, 76, 44, 44) F(llm_info, n_head, 80, 48, 48) F(llm_info, n_head_kv, 84, 52, 52) \
    F(llm_info, n_expert, 88, 56, 56) F(llm_info, n_expert_used, 92, 60, 60) F(llm_info, n_params, 96, 64, 64) \
    F(llm_info, file_bytes, 104, 72, 72) F(llm_info, weight_bytes, 112, 80, 80) F(llm_info, bytes_per_token, 120, 88, 88) \
    F(llm_info, bits_per_weight, 128, 96, 96) F(llm_info, types, 136, 104, 104) F(llm_info, n_types, 2056, 1640, 1640) \
    F(llm_info, has_template, 2060, 1644, 1644) F(llm_info, can_embed, 2064, 1648, 1648) F(llm_info, recurrent, 2068, 1652, 1652) \
    F(llm_bias, token, 0, 0, 0) F(llm_bias, bias, 4, 4, 4) F(llm_sampling, temperature, 0, 0, 0) F(llm_sampling, top_k, 4, 4, 4) \
    F(llm_sampling, top_p, 8, 8, 8) F(llm_sampling, min_p, 12, 12, 12) F(llm_sampling, typical_p, 16, 16, 16) \
    F(llm_sampling, repeat_penalty, 20, 20, 20) F(llm_sampling, frequency_penalty, 24, 24, 24) \
    F(llm_sampling, presence_penalty, 28, 28, 28) F(llm_sampling, penalty_window, 32, 32, 32) F(llm_sampling, seed, 40, 36, 40) \
    F(llm_sampling, bias, 48, 44, 48) F(llm_sampling, n_bias, 56, 48, 52) F(llm_ctx_desc, n_ctx, 0, 0, 0) \
    F(llm_ctx_desc, n_batch, 4, 4, 4) F(llm_ctx_desc, max_tokens, 8, 8, 8) F(llm_ctx_desc, kv_type, 12, 12, 12) \
    F(llm_ctx_desc, sampling, 16, 16, 16) F(llm_ctx_desc, stop, 80, 68, 72) F(llm_ctx_desc, n_stop, 88, 72, 76) \
    F(llm_ctx_desc, chat_template, 96, 76, 80) F(llm_ctx_desc, template_json, 104, 80, 84) F(llm_ctx_desc, grammar, 112, 84, 88) \
    F(llm_ctx_desc, json_schema, 120, 88, 92) F(llm_ctx_desc, trust_content, 128, 92, 96) F(llm_message, role, 0, 0, 0) \
    F(llm_message, content, 8, 4, 4) F(llm_stats_info, struct_bytes, 0, 0, 0) F(llm_stats_info, n_threads_asked, 4, 4, 4) \
    F(llm_stats_info, n_threads, 8, 8, 8) F(llm_stats_info, isa, 12, 12, 12) F(llm_stats_info, mapping, 16, 16, 16) \
    F(llm_stats_info, kv_type, 20, 20, 20) F(llm_stats_info, bits_promise, 24, 24, 24) F(llm_stats_info, bits_reason, 32, 28, 28) \
    F(llm_stats_info, open_ms, 40, 32, 32) F(llm_stats_info, parse_ms, 48, 40, 40) F(llm_stats_info, vocab_ms, 56, 48, 48) \
    F(llm_stats_info, load_ms, 64, 56, 56) F(llm_stats_info, prefill_ms, 72, 64, 64) F(llm_stats_info, first_token_ms, 80, 72, 72) \
    F(llm_stats_info, decode_ms, 88, 80, 80) F(llm_stats_info, prefill_tokens, 96, 88, 88) \
    F(llm_stats_info, decode_tokens, 104, 96, 96) F(llm_stats_info, reused_tokens, 112, 104, 104) \
    F(llm_stats_info, reevaluated_tokens, 120, 112, 112) F(llm_stats_info, weight_bytes, 128, 120, 120) \
    F(llm_stats_info, kv_bytes, 136, 128, 128) F(llm_stats_info, scratch_bytes, 144, 136, 136) \
    F(llm_stats_info, bytes_per_token, 152, 144, 144) F(llm_stats_info, f16_saturated, 160, 152, 152) \
    F(llm_stats_info, for_calls_per_token, 168, 160, 160) F(llm_stats_info, n_tensors_scalar, 176, 168, 168) \
    F(llm_stats_info, reserved, 180, 172, 172) F(llm_stats_info, probe_gb_s, 184, 176, 176) \
    F(llm_stats_info, decode_gb_s, 192, 184, 184) F(llm_stats_info, roofline_pct, 200, 192, 192) \
    F(llm_stats_info, pool_spins, 208, 200, 200) F(llm_stats_info, pool_sleeps, 216, 208, 208) \
    F(llm_stats_info, n_allocs, 224, 216, 216) F(llm_stats_info, compiler, 232, 224, 224) \
    F(llm_stats_info, isas_compiled, 240, 228, 228) F(llm_stats_info, isa_asked, 248, 232, 232) \
    F(llm_stats_info, isa_best, 252, 236, 236) F(llm_stats_info, optimized, 256, 240, 240) \
    F(llm_stats_info, reserved2, 260, 244, 244) F(llm_stats_info, file_fingerprint, 264, 248, 248) \
    F(llm_stats_info, file_system, 272, 256, 256) F(llm_stats_info, name_type, 280, 260, 260) \
    F(llm_stats_info, name_bits, 288, 264, 264) F(llm_stats_info, bits_per_weight, 296, 272, 272) \
    F(llm_stats_info, backend, 304, 280, 280) F(llm_stats_info, attention, 312, 284, 284) \
    F(llm_stats_info, scalar_pct, 320, 288, 288) F(llm_stats_info, mapping_reason, 328, 296, 296) \
    F(llm_stats_info, kv_limit_bytes, 336, 300, 304) F(llm_stats_info, file_resident_bytes, 344, 308, 312) \
    F(llm_stats_info, anonymous_bytes, 352, 316, 320) F(llm_stats_info, swapped_bytes, 360, 324, 328) \
    F(llm_stats_info, peak_rss_bytes, 368, 332, 336) F(llm_stats_info, weights_resident_bytes, 376, 340, 344) \
    F(llm_stats_info, mem_total, 384, 348, 352) F(llm_stats_info, mem_available, 392, 356, 360) \
    F(llm_stats_info, swap_total, 400, 364, 368) F(llm_stats_info, swap_used, 408, 372, 376) \
    F(llm_stats_info, mem_limit, 416, 380, 384) F(llm_stats_info, mem_limit_by, 424, 388, 392) \
    F(llm_stats_info, mem_pressure_pct, 432, 392, 400) F(llm_stats_info, swap_is_zram, 440, 400, 408) \
    F(llm_stats_info, from_path, 444, 404, 412) F(llm_stats_info, major_faults_per_token, 448, 408, 416) \
    F(llm_stats_info, minor_faults_per_token, 456, 416, 424) F(llm_stats_info, cpu_busy_pct, 464, 424, 432) \
    F(llm_stats_info, cpu_user_pct, 472, 432, 440) F(llm_stats_info, preempted_per_token, 480, 440, 448) \
    F(llm_stats_info, cpus_online, 488, 448, 456) F(llm_stats_info, cpus_allowed_at_load, 492, 452, 460) \
    F(llm_stats_info, cpus_allowed, 496, 456, 464) F(llm_stats_info, n_performance_cores, 500, 460, 468) \
    F(llm_stats_info, cpu_quota, 504, 464, 472) F(llm_stats_info, n_threads_resting, 508, 468, 476) \
    F(llm_stats_info, cores_asked, 512, 472, 480) F(llm_stats_info, cores, 516, 476, 484) \
    F(llm_stats_info, cores_reason, 520, 480, 488) F(llm_stats_info, pinned_cpus, 528, 484, 496) \
    F(llm_stats_info, rows_most, 536, 492, 504) F(llm_stats_info, rows_least, 544, 500, 512) \
    F(llm_stats_info, map_ms, 552, 508, 520) F(llm_stats_info, bind_ms, 560, 516, 528) \
    F(llm_stats_info, first_touch_ms, 568, 524, 536) F(llm_stats_info, decode_p50_ms, 576, 532, 544) \
    F(llm_stats_info, decode_p90_ms, 584, 540, 552) F(llm_stats_info, decode_p99_ms, 592, 548, 560) \
    F(llm_stats_info, burst_gb_s, 600, 556, 568) F(llm_stats_info, recent_gb_s, 608, 564, 576) \
    F(llm_stats_info, burst_mhz, 616, 572, 584) F(llm_stats_info, cpu_mhz, 620, 576, 588) \
    F(llm_stats_info, cpu_mhz_max, 624, 580, 592) F(llm_stats_info, temperature_c, 632, 584, 600) \
    F(llm_stats_info, power_mode, 640, 592, 608) F(llm_stats_info, on_battery, 648, 596, 612) \
    F(llm_stats_info, host_threads, 652, 600, 616) F(llm_stats_info, quota_throttled_pct, 656, 604, 624) \
    F(llm_stats_info, cpu_share, 664, 612, 632) F(llm_plan_info, struct_bytes, 0, 0, 0) F(llm_plan_info, verdict, 4, 4, 4) \
    F(llm_plan_info, reason, 8, 8, 8) F(llm_plan_info, file_bytes, 264, 260, 264) F(llm_plan_info, weight_bytes, 272, 268, 272) \
    F(llm_plan_info, mapping, 280, 276, 280) F(llm_plan_info, kv_type, 284, 280, 284) \
    F(llm_plan_info, weights_mapped, 288, 284, 288) F(llm_plan_info, weights_read, 296, 292, 296) \
    F(llm_plan_info, model_bytes, 304, 300, 304) F(llm_plan_info, kv_bytes_per_token, 312, 308, 312) \
    F(llm_plan_info, kv_bytes, 320, 316, 320) F(llm_plan_info, scratch_bytes, 328, 324, 328) \
    F(llm_plan_info, total_bytes, 336, 332, 336) F(llm_plan_info, mem_available, 344, 340, 344) \
    F(llm_plan_info, mem_limit, 352, 348, 352) F(llm_plan_info, mem_limit_by, 360, 356, 360) F(llm_plan_info, n_ctx, 368, 360, 364) \
    F(llm_plan_info, n_batch, 372, 364, 368) F(llm_plan_info, n_ctx_fits, 376, 368, 372) \
    F(llm_plan_info, n_ctx_train, 380, 372, 376) F(llm_plan_info, n_threads, 384, 376, 380) F(llm_plan_info, isa, 388, 380, 384) \
    F(llm_plan_info, bytes_per_token, 392, 384, 392) F(llm_plan_info, bits_per_weight, 400, 392, 400) \
    F(llm_plan_info, gb_s, 408, 400, 408) F(llm_plan_info, tok_s_low, 416, 408, 416) F(llm_plan_info, tok_s_high, 424, 416, 424) \
    F(llm_plan_info, file_fingerprint, 432, 424, 432) F(llm_plan_info, file_system, 440, 432, 440) \
    F(llm_plan_info, name_type, 448, 436, 444) F(llm_plan_info, name_bits, 456, 440, 448) F(llm_finding, code, 0, 0, 0) \
    F(llm_finding, layer, 8, 4, 4) F(llm_finding, kind, 12, 8, 8) F(llm_finding, factor, 16, 12, 16) \
    F(llm_finding, what, 24, 20, 24) F(llm_finding, text, 32, 24, 28) F(llm_finding, advice, 284, 276, 280) \
    F(llm_tensor_info, struct_bytes, 0, 0, 0) F(llm_tensor_info, name, 8, 4, 4) F(llm_tensor_info, kernel, 16, 8, 8) \
    F(llm_tensor_info, gguf_type, 24, 12, 12) F(llm_tensor_info, n_dims, 28, 16, 16) F(llm_tensor_info, dims, 32, 20, 24) \
    F(llm_tensor_info, offset, 64, 52, 56) F(llm_tensor_info, n_bytes, 72, 60, 64)

#endif
