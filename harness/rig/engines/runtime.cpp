// The emulated executor's native half: Torch-TensorRT's runtime names without CUDA or TensorRT.
//
// It registers what a saved hybrid program refers to, under the runtime's own names:
//   class  tensorrt::Engine          slots as strings, the engine bytes base64 in every pickle
//   op     tensorrt::execute_engine(Tensor[] input_tensors,
//              __torch__.torch.classes.tensorrt.Engine engine) -> Tensor[]
//   the index constants that Torch-TensorRT's Python asks the library for
// Source of these facts: core/runtime/register_jit_hooks.cpp and core/runtime/runtime.h of
// pytorch/TensorRT. The kernel is registered from Python (emulated.py), where a segment can run.
//
// The slot count and the ABI number differ between releases and are set at run time
// (`_emulated_set_layout`), so that this file is compiled once a torch, not once a release.
#include <torch/custom_class.h>
#include <torch/library.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace {

using Slots = std::vector<std::string>;

constexpr size_t kAbi = 0;
constexpr size_t kEngine = 3;
constexpr size_t kMetadata = 7;

struct Layout {
  size_t slots = 13;
  std::string abi = "10";
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

struct Engine : torch::CustomClassHolder {
  Slots slots;
  bool outputs_unowned = false;

  explicit Engine(Slots given) : slots(std::move(given)) {
    verify(slots);
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

} // namespace

TORCH_LIBRARY(tensorrt, m) {
  m.class_<Engine>("Engine")
      .def(torch::init<Slots>())
      .def("__obj_flatten__", [](const EnginePtr& self) { return self->flatten(); })
      .def("get_serialized_metadata",
           [](const EnginePtr& self) { return self->slots[kMetadata]; })
      .def("set_output_tensors_as_unowned",
           [](const EnginePtr& self, bool unowned) { self->outputs_unowned = unowned; })
      .def("are_output_tensors_unowned",
           [](const EnginePtr& self) { return self->outputs_unowned; })
      // Not the runtime's: how the Python kernel and the oracles read a slot. The engine bytes
      // come back as base64, since TorchScript strings are not bytes.
      .def("_emulated_slot", [](const EnginePtr& self, int64_t index) {
        const auto at = static_cast<size_t>(index);
        TORCH_CHECK(at < self->slots.size(), "no slot ", index);
        return at == kEngine ? base64_encode(self->slots[at]) : self->slots[at];
      })
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
}
