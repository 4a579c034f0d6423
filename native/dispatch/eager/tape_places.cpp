// Scratch memory of the runs of a tape: which values lie there, and where.
#include "dispatch/eager/tape_plan.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>
#include <utility>

namespace nj {

namespace {

constexpr size_t kAlignment = 64;

// Memory that values take over from each other: pieces that are free, by their place and size.
class Places {
 public:
  npy_intp take(size_t bytes) {
    const size_t wanted = std::max<size_t>((bytes + kAlignment - 1) / kAlignment, 1) * kAlignment;
    for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
      if (piece->second < wanted) continue;
      const npy_intp place = piece->first;
      piece->first += npy_intp(wanted), piece->second -= wanted;
      if (!piece->second) free_.erase(piece);
      taken_[place] = wanted;
      return place;
    }
    const npy_intp place = npy_intp(total);
    total += wanted;
    taken_[place] = wanted;
    return place;
  }
  void give_back(npy_intp place) {
    free_.push_back({place, taken_[place]});
    taken_.erase(place);
  }
  size_t total = 0;

 private:
  std::vector<std::pair<npy_intp, size_t>> free_;
  std::unordered_map<npy_intp, size_t> taken_;
};

// Which values are arrays: inputs, constants, results, operands and results of calls, and what shares their memory.
std::vector<bool> find_arrays(const TapePlan& plan, size_t values) {
  std::vector<bool> arrays(values, false);
  const size_t first = plan.ins.size() + plan.constants.size();
  std::fill(arrays.begin(), arrays.begin() + npy_intp(first), true);
  for (const Result& result : plan.results) arrays[result.value] = true;
  size_t number = values;
  for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step) {
    number -= step->outs.size();
    const bool call = step->kind == StepKind::Call;
    if (call) std::fill(arrays.begin() + npy_intp(number), arrays.begin() + npy_intp(number + step->outs.size()), true);
    if (call || (step->kind == StepKind::Share && arrays[number])) {
      for (uint32_t in : step->ins) arrays[in] = true;
    }
  }
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::Share && arrays[step.ins[0]]) arrays[number] = true;
    number += step.outs.size();
  }
  return arrays;
}

constexpr size_t kShared = 1 << 14;  // bytes of scratch memory that a tape keeps
// The address of an operand that stays where it is; null: an array that a step gives.
const char* fixed_address(uint32_t number, TapePlan& plan) {
  if (plan.places[number] >= 0) return plan.memory.get() + plan.places[number];
  if (number < plan.ins.size()) return plan.memory.get() + plan.copied[number];
  const size_t constant = number - plan.ins.size();
  return constant < plan.constants.size() ? plan.constants[constant]->buffer->data : nullptr;
}

QuickStep quick_step(const Step& step, TapePlan& plan) {
  QuickStep quick;
  if (!(step.own || step.loop) || step.kind == StepKind::Reduce || plan.places[step.number] < 0 || step.ins.size() > 3) return {};
  for (size_t k = 0; k < step.ins.size(); ++k) {
    quick.ins[k] = fixed_address(step.ins[k], plan);
    if (!quick.ins[k]) return {};
  }
  if (step.own) quick.loop = step.own;
  else quick.ufunc = &step;
  quick.count = step.outs[0]->size;
  quick.out = plan.memory.get() + plan.places[step.number];
  return quick;
}

// Gives the plan memory of its own, with room for the inputs.
void share_memory(TapePlan& plan) {
  size_t total = plan.scratch;
  for (const AvalRef& in : plan.ins) {
    plan.copied.push_back(npy_intp(total));
    total += (in->nbytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (total <= kShared) plan.memory.reset(static_cast<char*>(std::aligned_alloc(kAlignment, std::max(total, kAlignment))));
  if (!plan.memory) return;
  for (const Step& step : plan.steps) plan.quick.push_back(quick_step(step, plan));
  std::vector<bool> read(plan.ins.size(), false);
  for (size_t k = 0; k < plan.steps.size(); ++k) {
    if (!plan.quick[k].loop && !plan.quick[k].ufunc) continue;
    for (uint32_t in : plan.steps[k].ins) {
      if (in < read.size()) read[in] = true;
    }
  }
  for (size_t k = 0; k < read.size(); ++k) {
    if (!read[k]) plan.copied[k] = -1;
  }
}

}  // namespace

void place_values(TapePlan& plan, const Infos& infos) {
  const std::vector<bool> arrays = find_arrays(plan, infos.size());
  std::vector<uint32_t> owner(infos.size());  // whose memory a value is in
  std::vector<size_t> last(infos.size(), 0);  // the step that reads it last
  for (size_t k = 0; k < plan.steps.size(); ++k) {
    const Step& step = plan.steps[k];
    for (uint32_t in : step.ins) last[owner[in]] = k;
    for (uint32_t number = step.number; number < step.number + step.outs.size(); ++number) {
      owner[number] = step.kind == StepKind::Share && !arrays[number] ? owner[step.ins[0]] : number;
      last[owner[number]] = k;
    }
  }
  Places places;
  plan.places.assign(infos.size(), -1);
  std::vector<std::vector<npy_intp>> ending(plan.steps.size());
  for (size_t k = 0; k < plan.steps.size(); ++k) {
    const Step& step = plan.steps[k];
    for (uint32_t number = step.number; number < step.number + step.outs.size(); ++number) {
      npy_intp& place = plan.places[number];
      if (arrays[number]) continue;
      if (step.kind == StepKind::Share) {
        place = plan.places[step.ins[0]];
      } else {
        place = places.take(infos[number]->nbytes);
        ending[last[number]].push_back(place);
      }
    }
    for (npy_intp ended : ending[k]) places.give_back(ended);
  }
  plan.scratch = places.total;
  share_memory(plan);
}

}  // namespace nj
