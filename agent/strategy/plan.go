package strategy

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"nod/agent/thread"
)

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
