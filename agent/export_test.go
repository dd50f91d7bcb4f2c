package agent

import (
	"reflect"
	"slices"
	"strings"

	"nod/agent/do"
)

// Neighbours lists the rules that stand beside each other, first the one that is asked first.
func Neighbours() (out [][2]string) {
	for i := range len(rules) - 1 {
		out = append(out, [2]string{rules[i].name, rules[i+1].name})
	}
	return out
}

// WatchNeighbours tells of neighbours that have different things to say of a log, where nobody
// before them has anything, until done is called. No other test may run meanwhile.
func WatchNeighbours(clash func([2]string)) (done func()) {
	was := rules
	rules = append([]rule(nil), was...)
	for i := range len(was) - 1 {
		rules[i].says = func(d *decision) do.Action {
			act := was[i].says(d)
			if act == nil {
				return nil
			}
			if next := was[i+1].says(d); next != nil && !reflect.DeepEqual(act, next) {
				clash([2]string{was[i].name, was[i+1].name})
			}
			return act
		}
	}
	return func() { rules = was }
}

// Swap has two neighbours, rules or groups of them, change places until done is called.
func Swap(pair string) (done func()) {
	was := rules
	named := map[string][]rule{"safety": safety, "decisions": decisions, "drawing": drawing, "progress": progress}
	for _, r := range was {
		named[r.name] = []rule{r}
	}
	one, two, _ := strings.Cut(pair, " > ")
	from := slices.IndexFunc(was, func(r rule) bool { return r.name == named[one][0].name })
	to := from + len(named[one]) + len(named[two])
	rules = slices.Concat(was[:from], named[two], named[one], was[to:])
	return func() { rules = was }
}
