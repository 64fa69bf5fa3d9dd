// cpp.cpp - llm.h from C++11: two handles that close themselves, and errors as exceptions. Nothing of the library needs more.
//
//     c++ -O2 -I. examples/cpp.cpp -o cpp -pthread && ./cpp MODEL.gguf "Tell me a story about a fox."
#define LLM_IMPLEMENTATION
#include "llm.h"
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

struct Closer {
    void operator()(llm_model *model) const { llm_unload(model); }
    void operator()(llm_ctx *ctx) const { llm_close(ctx); }
};

class Model {                                    // may go before its conversations: the library counts them
public:
    explicit Model(const std::string &path, const llm_model_desc &desc = llm_model_desc()) {
        llm_error e;
        handle.reset(llm_load(path.c_str(), &desc, &e));
        if (!handle) throw std::runtime_error(e.text);
    }
    llm_model *get() const { return handle.get(); }
private:
    std::unique_ptr<llm_model, Closer> handle;
};

class Conversation {                             // moves, does not copy
public:
    explicit Conversation(const Model &model, const llm_ctx_desc &desc = llm_ctx_desc()) {
        llm_error e;
        handle.reset(llm_open(model.get(), &desc, &e));
        if (!handle) throw std::runtime_error(e.text);
    }
    // Hands each piece of the answer to on_piece as it comes.
    template <class OnPiece> llm_stop ask(const std::string &text, OnPiece on_piece) {
        if (llm_say(handle.get(), "user", text.c_str()) < 0) throw std::runtime_error(llm_last_error(handle.get())->text);
        size_t n;
        while (const char *piece = llm_next(handle.get(), &n)) on_piece(std::string(piece, n));
        if (llm_why(handle.get()) == LLM_STOP_ERROR) throw std::runtime_error(llm_last_error(handle.get())->text);
        return llm_why(handle.get());
    }
private:
    std::unique_ptr<llm_ctx, Closer> handle;
};

int main(int argc, char **argv) {
    try {
        Conversation talk(Model(argc > 1 ? argv[1] : "examples/tiny/tiny.gguf"));
        talk.ask(argc > 2 ? argv[2] : "Tell me a story about a fox.", [](const std::string &piece) { std::cout << piece << std::flush; });
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
