// Scratch memory of the runs of a tape: which values lie there, and where.
#include "dispatch/eager/tape_plan.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace nj {

namespace {

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
  static constexpr size_t kAlignment = 64;
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

constexpr size_t kQuickest = 1 << 30;  // bytes of scratch memory, so that places have 32 bits

QuickStep quick_step(const Step& step, const TapePlan& plan) {
  QuickStep quick;
  if (!step.own || plan.places[step.number] < 0 || plan.scratch > kQuickest) return quick;
  quick.loop = step.own, quick.count = int32_t(step.outs[0]->size), quick.place = int32_t(plan.places[step.number]);
  for (size_t k = 0; k < 3; ++k) {
    const uint32_t number = step.ins[std::min(k, step.ins.size() - 1)];
    quick.ins[k] = plan.places[number] < 0 ? ~int32_t(number) : int32_t(plan.places[number]);
  }
  return quick;
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
  for (const Step& step : plan.steps) plan.quick.push_back(quick_step(step, plan));
}

}  // namespace nj
