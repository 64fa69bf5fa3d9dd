// The model as constant data: .incbin puts the file into the section that the linker scripts place in flash.
    .section .model, "a"
    .global board_model, board_model_end
    .balign 64
board_model:
    .incbin MODEL
board_model_end:
#if defined(__linux__)
    .section .note.GNU-stack, "", %progbits
#endif
