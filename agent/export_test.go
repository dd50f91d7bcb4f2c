package agent

import (
	"reflect"
	"slices"
	"strings"
)

// Neighbours lists the rules that stand beside each other, first the one that is asked first.
func Neighbours() (out [][2]string) {
	for i := range len(rules) - 1 {
		out = append(out, [2]string{rules[i].name, rules[i+1].name})
	}
	return out
}

// Watch tells of neighbours that have different things to say of a log, where nobody
// before them has anything, until done is called. No other test may run meanwhile.
func Watch(clash func([2]string)) (done func()) {
	was := rules
	rules = append([]rule(nil), was...)
	for i := range len(was) - 1 {
		rules[i].says = func(d *decision) Action {
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
	groups := map[string][]rule{"safety": safety, "decisions": decisions, "drawing": drawing, "progress": progress}
	at := func(name string) (from, to int) {
		size, first := 1, name
		if g, ok := groups[name]; ok {
			size, first = len(g), g[0].name
		}
		from = slices.IndexFunc(was, func(r rule) bool { return r.name == first })
		return from, from + size
	}
	one, two, _ := strings.Cut(pair, " > ")
	from, mid := at(one)
	next, to := at(two)
	if mid != next {
		panic(pair + " are no neighbours")
	}
	rules = slices.Concat(was[:from], was[mid:to], was[from:mid], was[to:])
	return func() { rules = was }
}
