// load_code() and cpu_identity(): machine code of other processes, and for which processor it is.

#include "runtime/code/cpu_identity.h"
#include "runtime/code/object_file.h"
#include "runtime/python/guard.h"

#include <structmember.h>

#include <cstddef>
#include <memory>

namespace nj {

namespace {

// Keeps the pages of a program mapped.
struct LoadedCode {
  PyObject_HEAD
  std::unique_ptr<CodePages> pages;
  unsigned long long address;
};

PyTypeObject* loaded_type = nullptr;

void dealloc(PyObject* self) {
  destroy(reinterpret_cast<LoadedCode*>(self)->pages);
  free_instance(self);
}

PyMemberDef members[] = {{"address", T_ULONGLONG, offsetof(LoadedCode, address), READONLY, PyDoc_STR("Of the function.")},
                         {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {slot<dealloc>(Py_tp_dealloc),
                       no_instances(),
                       {Py_tp_members, members},
                       {Py_tp_doc, const_cast<char*>("Machine code in memory, as long as this object lives.")},
                       {0, nullptr}};
PyType_Spec spec = {"numjet._native.LoadedCode", sizeof(LoadedCode), 0,
                    Py_TPFLAGS_DEFAULT, slots};

// A dict from names to addresses; names of other objects, and what is no address, have none.
class DictSymbols : public SymbolTable {
 public:
  explicit DictSymbols(PyObject* dict) : dict_(dict) {}
  uint64_t address(const char* name) const override {
    PyObject* found = PyDict_GetItemString(dict_, name);
    if (!found || !PyLong_Check(found)) return 0;
    const unsigned long long value = PyLong_AsUnsignedLongLong(found);
    if (!PyErr_Occurred()) return value;
    PyErr_Clear();
    return 0;
  }

 private:
  PyObject* dict_;
};

PyObject* load_code(PyObject*, PyObject* args) {
  Py_buffer code;
  const char* entry;
  PyObject* symbols;
  if (!PyArg_ParseTuple(args, "y*sO!:load_code", &code, &entry, &PyDict_Type, &symbols)) return nullptr;
  struct Release {
    Py_buffer* buffer;
    ~Release() { PyBuffer_Release(buffer); }
  } release{&code};
  auto pages = std::make_unique<CodePages>();
  std::string problem;
  const uint64_t address = load_object_file(static_cast<const char*>(code.buf), size_t(code.len), entry, DictSymbols(symbols),
                                            *pages, problem);
  if (!address) return PyErr_Format(PyExc_ValueError, "load_code: '%s' cannot be loaded: %s", entry, problem.c_str());
  PyRef self(loaded_type->tp_alloc(loaded_type, 0));
  if (!self) return nullptr;
  auto* loaded = reinterpret_cast<LoadedCode*>(self.get());
  construct(loaded->pages);
  loaded->pages = std::move(pages);
  loaded->address = address;
  return self.release();
}

PyObject* identity(PyObject*, PyObject*) {
  const std::string text = cpu_identity();
  return PyUnicode_FromStringAndSize(text.data(), Py_ssize_t(text.size()));
}

PyMethodDef functions[] = {
    {"load_code", method<load_code>(), METH_VARARGS,
     PyDoc_STR("load_code(object_file, function, addresses) -> LoadedCode: links relocatable code without LLVM. ValueError "
               "where the bytes are damaged, or of a kind that only LLVM links.")},
    {"cpu_identity", method<identity>(), METH_NOARGS, PyDoc_STR("The model and the features of this processor, as text.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace
}  // namespace nj

int code_init(PyObject* module) {
  using namespace nj;
  loaded_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!loaded_type || PyModule_AddObjectRef(module, "LoadedCode", reinterpret_cast<PyObject*>(loaded_type)) < 0) return -1;
  return PyModule_AddFunctions(module, functions);
}
