package approval

import (
	"slices"
	"strings"
	"time"

	"nod/agent/policy"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// A risky tool may have a preview: a program that changes nothing and says what a call
// would do. It runs before people are asked. They see its text, and their approval is
// bound to it. Right before the effect it runs once more; if it says something else,
// people are asked again, and see the difference.
//
// A preview is slow work like others: it runs beside, and its outcome is an entry. One
// whose outcome is unknown runs again.

// mostAnew is how often a call is asked again since its preview changed.
const mostAnew = 2

// mostEdited is how many previews a person may have run by changing a call.
const mostEdited = 3

const textUnsteady = "the preview keeps changing"

// PreviewsChange says whether the preview of a changed call may run. It reads production
// with arguments that a person chose: so the person has to be one who may change the call.
// ask lists the groups that were not looked up lately.
func (k Case) PreviewsChange(p thread.Proposal) (may bool, ask []string) {
	c := p.Call
	is := c.Use.Givers[p.By.ID]
	member := func(rule string) (bool, error) { return slices.Contains(is.In, rule), nil }
	anybody := func(string) (bool, error) { return true, nil }
	if c.Preview.Edits[p.By.ID] >= mostEdited || k.Refuses(p, anybody) != "" {
		return false, nil
	}
	fresh := is.Who != "" && k.Thread.Now.Sub(c.Use.Identified) < staleAfter
	if k.Refuses(p, member) != "" && !fresh {
		return false, groupsOf(c.ApproversAt(k.Thread.Now))
	}
	return k.Refuses(p, member) == "", nil
}

func groupsOf(rules []string) []string {
	return slices.DeleteFunc(slices.Clone(rules), func(rule string) bool { return !policy.IsGroup(rule) })
}

// LacksPreview says whether the call waits for its preview before it is asked for.
func (k Case) LacksPreview(c *thread.Call) bool {
	tool, _ := k.Tools.Find(c.Tool)
	return tool.Preview && c.Asked == nil && c.Preview.Bound == nil
}

// Unseen is the entry for a preview that is not run.
func Unseen(c *thread.Call, why string) memory.Previewed {
	return Previewed(c.Call, chat.Preview{Err: why}, 0)
}

// Previewed is the entry for the outcome of a preview.
func Previewed(c memory.Call, p chat.Preview, took time.Duration) memory.Previewed {
	k := thread.Call{Call: c}
	return memory.Previewed{
		Call: c.ID, Of: k.Digest(), Sum: memory.PreviewSum(p.Text, p.Err), Text: p.Text, Err: p.Err, Took: took,
	}
}

// Differs says whether the check right before the effect differs from the preview that
// people approved.
func (k Case) Differs(c *thread.Call) bool {
	return c.Cleared(k.Now()) && !c.Started && c.Result == nil && c.Preview.Check != nil && c.Preview.Check.Seq >= k.Since && c.Preview.Check.Digest() != c.Preview.Bound.Digest()
}

// unsteady is the result of a call whose preview changed, and that is not asked for again.
func (k Case) unsteady(c *thread.Call) (memory.Result, bool) {
	if !k.Differs(c) || k.Lapsed(c) {
		return memory.Result{}, false
	}
	tool, _ := k.Tools.Find(c.Tool)
	r := memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallDenied}
	switch {
	case c.Preview.Check.Err != "" && tool.PreviewRequired:
		r.Text = "denied: " + textNoPreview(c.Preview.Check) + ". The call did not run."
	case c.Preview.Anew >= mostAnew:
		r.Text = "denied: " + textUnsteady
	}
	return r, r.Text != ""
}

func textNoPreview(p *thread.Preview) string { return "its preview failed: " + p.Err }

// outdated opens an approval, or opens it again, since the preview changed.
func (k Case) outdated(c *thread.Call, number int) memory.Asked {
	tool, _ := k.Tools.Find(c.Tool)
	next := *c
	next.Preview.Bound = c.Preview.Check
	_, why := k.Taint.Risk(tool, c)
	a := k.ask(c, tool, number)
	a.Digest, a.Changed = k.digest(&next), true
	changed := "The preview changed since this was allowed for a while, so it asks."
	if c.Asked != nil {
		changed, a.Again = "The preview changed since this was approved, so it asks anew.", c.Asked.Again+1
	}
	a.Why = strings.TrimSpace(changed + " " + why)
	return a
}

// MustAsk says whether people have to be asked, or asked again, before the call runs.
func (k Case) MustAsk(c *thread.Call) bool {
	if k.Differs(c) {
		return true
	}
	tool, _ := k.Tools.Find(c.Tool)
	risk, _ := k.Taint.Risk(tool, c)
	return risk != policy.Auto && c.Asked == nil && !c.RunsGranted(k.Now())
}
