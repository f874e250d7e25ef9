// The emulated executor's native half: Torch-TensorRT's runtime names without CUDA or TensorRT.
//
// It registers what a saved hybrid program refers to, under the runtime's own names:
//   class  tensorrt::Engine          slots as strings, the engine bytes base64 in every pickle
//   op     tensorrt::execute_engine(Tensor[] input_tensors,
//              __torch__.torch.classes.tensorrt.Engine engine) -> Tensor[]
//   the index constants that Torch-TensorRT's Python asks the library for
//   what else the Python of the real package asks the library for (package lane): the platform's
//   names, logging level, modes and the runtime cache's handle, none of which does anything here
// Source of these facts: core/runtime/register_jit_hooks.cpp and core/runtime/runtime.h of
// pytorch/TensorRT. The kernel is registered from Python (emulated.py), where a segment can run.
//
// The slot count and the ABI number differ between releases and are set at run time
// (`_emulated_set_layout`), so that this file is compiled once a torch, not once a release.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace {

using Slots = std::vector<std::string>;

constexpr size_t kAbi = 0;
constexpr size_t kEngine = 3;
constexpr size_t kMetadata = 7;
constexpr size_t kMultiDevice = 11;

// No default: a layout that nobody set must not be right by luck.
struct Layout {
  size_t slots = 0;
  std::string abi;
};

Layout& layout() {
  static Layout current;
  return current;
}

const char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string base64_encode(const std::string& bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    const size_t have = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; k++) {
      word = word << 8 | (k < have ? static_cast<uint8_t>(bytes[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; k++) {
      text += k <= have ? kAlphabet[word >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

std::string base64_decode(const std::string& text) {
  int8_t value[256];
  std::fill(std::begin(value), std::end(value), static_cast<int8_t>(-1));
  for (int i = 0; i < 64; i++) {
    value[static_cast<uint8_t>(kAlphabet[i])] = static_cast<int8_t>(i);
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t word = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') {
      break;
    }
    const int8_t digit = value[static_cast<uint8_t>(c)];
    TORCH_CHECK(digit >= 0, "engine bytes are not base64: character ", static_cast<int>(c));
    word = word << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(word >> bits & 255);
    }
  }
  return bytes;
}

// The runtime's verify_serialization_fmt: a program of another layout or ABI is refused at load.
void verify(const Slots& slots) {
  TORCH_CHECK(
      slots.size() == layout().slots,
      "Program to be deserialized targets an incompatible Torch-TensorRT ABI: ",
      slots.size(), " slots, this runtime has ", layout().slots);
  TORCH_CHECK(
      slots[kAbi] == layout().abi,
      "Program to be deserialized targets a different Torch-TensorRT ABI version (", slots[kAbi],
      ") than this runtime (", layout().abi, ")");
}

// Not the runtime's: tells one engine object from every other one of this process, so that what was
// read out of it once need not be read again at every call. Slots never change.
int64_t next_serial() {
  static std::atomic<int64_t> given{0};
  return given++;
}

struct Engine : torch::CustomClassHolder {
  const Slots slots;
  const int64_t serial = next_serial();
  bool outputs_unowned = false;
  bool use_pre_allocated_outputs = false;
  bool use_output_allocator_outputs = false;
  bool requires_native_multidevice = false;

  explicit Engine(Slots given) : slots(std::move(given)) {
    verify(slots);
    requires_native_multidevice = slots.size() > kMultiDevice && slots[kMultiDevice] == "1";
  }

  Slots serialize() const {
    Slots copy = slots;
    copy[kEngine] = base64_encode(slots[kEngine]);
    return copy;
  }

  // torch asks a script object that it fakes for (name, value) pairs; a tuple whose length is
  // known at run time only has to be built as an IValue.
  c10::IValue flatten() const {
    static const char* names[] = {
        "version", "name", "device_info", "serialized_engine", "in_binding_names",
        "out_binding_names", "hardware_compatible", "serialized_metadata", "target_platform",
        "requires_output_allocator", "resource_allocation_strategy", "requires_native_multidevice",
        "aliased_io"};
    const Slots values = serialize();
    std::vector<c10::IValue> pairs;
    for (size_t i = 0; i < values.size(); i++) {
      const std::string name = i < std::size(names) ? names[i] : "slot_" + std::to_string(i);
      pairs.emplace_back(c10::ivalue::Tuple::create({c10::IValue(name), c10::IValue(values[i])}));
    }
    return c10::ivalue::Tuple::create(std::move(pairs));
  }
};

using EnginePtr = c10::intrusive_ptr<Engine>;
using Shapes = std::vector<std::vector<int64_t>>;

// Releases up to 2.10 ask the engine itself which outputs it would give for inputs of these sizes,
// from inside their meta kernel. The answer comes from Python, which knows the engine's contract;
// no mode that is tracing may see the question, so the keys that lead to modes are left out.
std::vector<at::Tensor> infer_outputs(const EnginePtr& self, const Shapes& shapes) {
  std::vector<int64_t> ranks;
  std::vector<int64_t> sizes;
  for (const auto& shape : shapes) {
    ranks.push_back(static_cast<int64_t>(shape.size()));
    sizes.insert(sizes.end(), shape.begin(), shape.end());
  }
  const c10::impl::ExcludeDispatchKeyGuard unseen(c10::DispatchKeySet(
      {c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot,
       c10::DispatchKey::PreDispatch}));
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("tensorrt::_emulated_infer", "");
  torch::jit::Stack stack{self, ranks, sizes};
  op.callBoxed(&stack);
  return stack.at(0).toTensorVector();
}

// Handed to an engine by 2.14, which keeps a TensorRT-RTX runtime cache in it; nothing is cached.
struct RuntimeCacheHandle : torch::CustomClassHolder {
  std::string path;

  explicit RuntimeCacheHandle(std::string given) : path(std::move(given)) {}
};

using CachePtr = c10::intrusive_ptr<RuntimeCacheHandle>;

// Settings of the whole library: kept, so that what is read is what was written.
int64_t cudagraphs_mode = 0;
int64_t logging_level = 2;
bool multi_device_safe_mode = false;

} // namespace

TORCH_LIBRARY(tensorrt, m) {
  // Before the engine, whose methods take one.
  m.class_<RuntimeCacheHandle>("RuntimeCacheHandle")
      .def(torch::init<std::string>())
      .def_readwrite("path", &RuntimeCacheHandle::path)
      .def("load", [](const CachePtr&) {})
      .def("save", [](const CachePtr&) {})
      .def_pickle(
          [](const CachePtr& self) { return self->path; },
          [](std::string path) { return c10::make_intrusive<RuntimeCacheHandle>(std::move(path)); });

  m.class_<Engine>("Engine")
      .def(torch::init<Slots>())
      .def("__obj_flatten__", [](const EnginePtr& self) { return self->flatten(); })
      .def("get_serialized_metadata",
           [](const EnginePtr& self) { return self->slots[kMetadata]; })
      .def("set_output_tensors_as_unowned",
           [](const EnginePtr& self, bool unowned) { self->outputs_unowned = unowned; })
      .def("are_output_tensors_unowned",
           [](const EnginePtr& self) { return self->outputs_unowned; })
      .def("infer_outputs", &infer_outputs)
      .def("reset_captured_graph", [](const EnginePtr&) {})
      .def("use_dynamically_allocated_resources", [](const EnginePtr&, bool) {})
      .def("update_runtime_settings",
           [](const EnginePtr&, int64_t, int64_t, std::optional<CachePtr>) {})
      .def_readonly("requires_native_multidevice", &Engine::requires_native_multidevice)
      .def_readwrite("use_pre_allocated_outputs", &Engine::use_pre_allocated_outputs)
      .def_readwrite("use_output_allocator_outputs", &Engine::use_output_allocator_outputs)
      // Not the runtime's: by it the Python kernel and the oracles know an engine again.
      .def("_emulated_serial", [](const EnginePtr& self) { return self->serial; })
      .def_pickle(
          [](const EnginePtr& self) { return self->serialize(); },
          [](Slots slots) {
            TORCH_CHECK(slots.size() > kEngine, "an engine has more than ", slots.size(), " slots");
            slots[kEngine] = base64_decode(slots[kEngine]);
            return c10::make_intrusive<Engine>(std::move(slots));
          });

  m.def(
      "execute_engine(Tensor[] input_tensors, "
      "__torch__.torch.classes.tensorrt.Engine engine) -> Tensor[]");

  m.def(
      "_emulated_infer(__torch__.torch.classes.tensorrt.Engine engine, int[] ranks, int[] sizes)"
      " -> Tensor[]");

  m.def("_emulated_set_layout", [](int64_t slots, std::string abi) {
    TORCH_CHECK(slots > static_cast<int64_t>(kMetadata), "an engine has at least 8 slots");
    layout() = Layout{static_cast<size_t>(slots), std::move(abi)};
  });
  m.def("ABI_VERSION", []() { return layout().abi; });
  m.def("SERIALIZATION_LEN", []() { return static_cast<int64_t>(layout().slots); });
  m.def("SERIALIZED_ENGINE_BINDING_DELIM", []() { return std::string("%"); });
  m.def("SERIALIZED_RT_DEVICE_DELIM", []() { return std::string("%"); });
#define INDEX(name, value) m.def(name, []() -> int64_t { return value; })
  INDEX("ABI_TARGET_IDX", 0);
  INDEX("NAME_IDX", 1);
  INDEX("DEVICE_IDX", 2);
  INDEX("ENGINE_IDX", 3);
  INDEX("INPUT_BINDING_NAMES_IDX", 4);
  INDEX("OUTPUT_BINDING_NAMES_IDX", 5);
  INDEX("HW_COMPATIBLE_IDX", 6);
  INDEX("SERIALIZED_METADATA_IDX", 7);
  INDEX("TARGET_PLATFORM_IDX", 8);
  INDEX("REQUIRES_OUTPUT_ALLOCATOR_IDX", 9);
  INDEX("RESOURCE_ALLOCATION_STRATEGY_IDX", 10);
  INDEX("REQUIRES_NATIVE_MULTIDEVICE_IDX", 11);
  INDEX("ALIASED_IO_IDX", 12);
#undef INDEX
#define TEXT(name, value) m.def(name, []() { return std::string(value); })
  TEXT("_platform_linux_x86_64", "linux_x86_64");
  TEXT("_platform_linux_aarch64", "linux_aarch64");
  TEXT("_platform_win_x86_64", "windows_x86_64");
  TEXT("_platform_win_arm64", "windows_arm64");
  TEXT("_platform_unknown", "unknown");
  TEXT("get_current_platform", "linux_x86_64");
#undef TEXT
  m.def("get_cudagraphs_mode", []() { return cudagraphs_mode; });
  m.def("set_cudagraphs_mode", [](int64_t mode) { cudagraphs_mode = mode; });
  m.def("get_multi_device_safe_mode", []() { return multi_device_safe_mode; });
  m.def("set_multi_device_safe_mode", [](bool mode) { multi_device_safe_mode = mode; });
  m.def("get_logging_level", []() { return logging_level; });
  m.def("set_logging_level", [](int64_t level) { logging_level = level; });
  m.def("NATIVE_TRT_COLLECTIVES_AVAIL", []() { return false; });
}
