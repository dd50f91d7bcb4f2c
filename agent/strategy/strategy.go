// Package strategy says how a turn is thought through: which phase its next model call
// is for. The prompt and the view show the same phases.
package strategy

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"nod/agent/thread"
	"nod/memory"
)

// Kind is how a turn is thought through. Each kind is a small function of the log: it says
// what the next model call is for. Tools, approvals and messages work the same in all.
type Kind string

// The strategies.
const (
	Straight  Kind = "react"     // act and observe until there is an answer
	Plan      Kind = "plan"      // first a plan, then act along it
	Reflexion Kind = "reflexion" // check the answer; reflect and try again (Shinn et al., 2023)
	Branch    Kind = "branch"    // several drafts from different angles, then one answer of them
)

// prefixes let a message choose the strategy of the turn that it opens.
var prefixes = []struct {
	words string
	how   Kind
}{{"plan:", Plan}, {"think harder:", Branch}}

// Chosen splits a message that begins with a prefix into strategy and text.
func Chosen(text string) (Kind, string) {
	trimmed := strings.TrimSpace(text)
	for _, p := range prefixes {
		if len(trimmed) > len(p.words) && strings.EqualFold(trimmed[:len(p.words)], p.words) {
			return p.how, strings.TrimSpace(trimmed[len(p.words):])
		}
	}
	return "", text
}

// Phase is what a model call is for. The zero phase goes on with the turn.
type Phase struct {
	Kind   memory.StepKind
	Branch int
}

// Angles tell the drafts of a branched turn apart.
var Angles = []string{
	"Work carefully: check every fact and every number with a tool where you can.",
	"Be sceptical: look for what is wrong with the obvious answer, and for what was left out of the question.",
	"Be practical: find the shortest way to an answer that helps.",
}

// Next is the phase of the turn's next model call.
func Next(t *thread.Turn) Phase {
	switch {
	case t.From != nil: // it goes on
	case Kind(t.Strategy) == Plan && len(t.StepsOf(memory.PlanStep)) == 0:
		return Phase{Kind: memory.PlanStep}
	case t.Again != 0 && Kind(t.Strategy) == Reflexion && len(t.StepsOf(memory.ReflectStep)) == 0:
		return Phase{Kind: memory.ReflectStep}
	case Kind(t.Strategy) == Branch && solved(t) < len(Angles):
		return Phase{memory.SolveStep, solved(t) + 1}
	}
	return Phase{}
}

// solved counts the drafts that are written, or were given up.
func solved(t *thread.Turn) int {
	n := 0
	for _, st := range t.StepsOf(memory.SolveStep) {
		if len(st.Calls) == 0 {
			n = max(n, st.Branch)
		}
	}
	return n
}

// planItem matches a line of a plan.
var planItem = regexp.MustCompile(`(?m)^\s*(\d{1,2})[.)]\s+(.+)$`)

// DoneMark matches the mark by which the model ticks off an item of its plan.
var DoneMark = regexp.MustCompile(`\s*\[done (\d{1,2})\]`)

// Checklist is the plan as people see it, with its done items ticked off.
func Checklist(t *thread.Turn, plan string) string {
	ticked := map[int]bool{}
	for _, st := range t.Steps {
		for _, m := range DoneMark.FindAllStringSubmatch(st.Thought+"\n"+st.Marks, -1) {
			n, _ := strconv.Atoi(m[1])
			ticked[n] = true
		}
	}
	lines := planItem.ReplaceAllStringFunc(plan, func(line string) string {
		m := planItem.FindStringSubmatch(line)
		n, _ := strconv.Atoi(m[1])
		box := "☐"
		if ticked[n] {
			box = "☑"
		}
		return fmt.Sprintf("%s %d. %s", box, n, m[2])
	})
	return "Plan:\n" + lines
}

// Unmarked takes such marks out of an answer.
func Unmarked(answer string) (text, marks string) {
	found := DoneMark.FindAllString(answer, -1)
	if len(found) == 0 {
		return answer, ""
	}
	return strings.TrimSpace(DoneMark.ReplaceAllString(answer, "")), strings.TrimSpace(strings.Join(found, ""))
}
