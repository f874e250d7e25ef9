// The C libraries under TensorRT's Python bindings, without TensorRT.
//
// `tensorrt.so` of the bindings takes nine functions from libnvinfer, libnvinfer_plugin and
// libnvonnxparser, and calls them only when a builder, runtime, refitter, parser or plugin is made.
// Here each returns nothing, so that the bindings can be imported and their types be used, and
// whoever makes one of those objects is told so by the bindings ("factory function returned
// nullptr"). One file stands for all three libraries: the loader looks for a name, and then for the
// functions in whatever it has loaded.
extern "C" {

void* createInferBuilder_INTERNAL(void*, int) { return nullptr; }
void* createInferRuntime_INTERNAL(void*, int) { return nullptr; }
void* createInferRefitter_INTERNAL(void*, void*, int) { return nullptr; }
void* getPluginRegistry() { return nullptr; }
void* getBuilderPluginRegistry(int) { return nullptr; }

int initLibNvInferPlugins(void*, const char*) { return 1; }

void* createNvOnnxParser_INTERNAL(void*, void*, int) { return nullptr; }
void* createNvOnnxParserRefitter_INTERNAL(void*, void*, int) { return nullptr; }
int getNvOnnxParserVersion() { return 0; }

}
