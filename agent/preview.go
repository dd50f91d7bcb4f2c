package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"nod/agent/speak"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// A risky tool may have a preview: a program that changes nothing and says what a
// call would do. It is run before people are asked, they see what it wrote, and what
// they approve is bound to that as well. Right before the effect it is run once more:
// if it says something else by then, they are asked anew, and see the difference.
//
// It is a work like others: begun beside, its outcome an entry. What nobody knows
// the outcome of is run again.

// mostAnew is how often a call is asked anew since its preview changed.
const mostAnew = 2

// lacksPreview says whether the call can't be asked for yet, as nobody knows what its
// preview comes to.
func (d *decision) lacksPreview(c *thread.Call) bool {
	tool, _ := d.a.tool(c.Tool)
	return tool.Preview && c.Asked == nil && c.Preview.Bound == nil
}

// previewing has the previews run that are missing. What else there is to do meanwhile
// is done beside.
func (d *decision) previewing(last *thread.Step, beside Action) Action {
	var out Preview
	for _, c := range last.Calls {
		tool, _ := d.a.tool(c.Tool)
		if c.Result != nil || c.Started || !d.lacksPreview(c) {
			continue
		}
		if risk, _ := d.risk(tool, c); risk != Ask {
			continue
		}
		if why := d.barsPreview(tool, c); why != "" {
			return Record{[]memory.Body{d.unseen(c, why)}}
		}
		out.Calls = append(out.Calls, c.Call)
	}
	if len(out.Calls) == 0 {
		return beside
	}
	out.Beside = beside
	return out
}

// barsPreview says why no preview of a call is run: it would carry to the outside
// what no person wrote, before anybody was asked.
func (d *decision) barsPreview(tool Tool, c *thread.Call) string {
	if !d.a.Taint || len(tool.Sends) == 0 {
		return ""
	}
	taint := d.taintOf(c)
	if taint.Source == "" {
		return ""
	}
	for _, name := range tool.sending(c.Args) {
		values, all := tool.sent(c.Args, name)
		if !all || slices.ContainsFunc(values, func(v string) bool { return !d.personWrote(v) }) {
			return fmt.Sprintf("it was not run, since this turn holds content from outside (%s) and no person wrote %s", taint.Source, brief(name))
		}
	}
	return ""
}

// unseen is what a preview came to that is not run.
func (d *decision) unseen(c *thread.Call, why string) memory.Previewed {
	return Previewed(c.Call, chat.Preview{Err: why}, 0)
}

// Previewed is the entry for what the preview of a call came to.
func Previewed(c memory.Call, p chat.Preview, took time.Duration) memory.Previewed {
	k := thread.Call{Call: c}
	return memory.Previewed{
		Call: c.ID, Of: k.Digest(), Sum: memory.PreviewSum(p.Text, p.Err), Text: p.Text, Err: p.Err, Took: took,
	}
}

// looking has the preview of a call that may run looked at once more; nil when that
// was done, or need not be.
func (d *decision) looking(c *thread.Call) Action {
	tool, _ := d.a.tool(c.Tool)
	if !tool.Preview || c.Asked == nil && c.Use.Grant == nil || c.Preview.Check != nil && !d.before(c.Preview.Check.Seq) {
		return nil
	}
	if why := d.barsPreview(tool, c); why != "" {
		return Record{[]memory.Body{d.unseen(c, why)}}
	}
	return Preview{Calls: []memory.Call{c.Call}}
}

// differs says whether the look right before the effect showed something else than
// what people approved.
func (d *decision) differs(c *thread.Call) bool {
	return c.Cleared(d.now()) && !c.Started && c.Result == nil && c.Preview.Check != nil && !d.before(c.Preview.Check.Seq) && c.Preview.Check.Digest() != c.Preview.Bound.Digest()
}

// unsteady is the result of a call that is not asked for anew although its preview
// changed.
func (d *decision) unsteady(c *thread.Call) (memory.Result, bool) {
	if !d.differs(c) || d.lapsed(c) {
		return memory.Result{}, false
	}
	tool, _ := d.a.tool(c.Tool)
	r := memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallDenied}
	switch {
	case c.Preview.Check.Err != "" && tool.PreviewRequired:
		r.Text = "denied: " + textNoPreview(c.Preview.Check) + ". The call did not run."
	case c.Preview.Anew >= mostAnew:
		r.Text = "denied: the preview keeps changing"
	}
	return r, r.Text != ""
}

func textNoPreview(p *thread.Preview) string { return "its preview failed: " + p.Err }

// outdated opens an approval, or opens it again, of a call whose preview changed.
func (d *decision) outdated(c *thread.Call, number int) memory.Asked {
	tool, _ := d.a.tool(c.Tool)
	next := *c
	next.Preview.Bound = c.Preview.Check
	_, why := d.risk(tool, c)
	a := memory.Asked{
		Call: c.ID, Number: number, Tool: c.Tool, Digest: d.a.digest(&next), Requester: c.Turn.Requester, Rules: tool.Rules,
		Marks: d.marks(c), Changed: true, Shown: d.shownOf(tool.Rules),
	}
	changed := "The preview changed since this was allowed for a while, so it asks."
	if c.Asked != nil {
		changed, a.Again = "The preview changed since this was approved, so it asks anew.", c.Asked.Again+1
	}
	a.Why = strings.TrimSpace(changed + " " + why)
	return a
}

// hopeless denies a call that may not be approved, since its preview failed.
func (d *decision) hopeless(c *thread.Call, asked memory.Asked) []memory.Body {
	return []memory.Body{asked, memory.Decided{Call: c.ID, Outcome: chat.Denied, Reason: textNoPreview(c.Preview.Bound)}}
}

// MostPreview is how much of a preview a card shows, in bytes; what is longer goes
// along as a file.
const MostPreview = 1200

// viewPreview is the preview as a card shows it.
func viewPreview(c *thread.Call) *chat.Preview {
	if c.Preview.Bound == nil {
		return nil
	}
	v := &chat.Preview{Text: c.Preview.Bound.Text, Err: c.Preview.Bound.Err}
	if n := len(c.Ask.Past); n > 0 && c.Ask.Past[n-1].Preview.Outdated && c.Ask.Past[n-1].Preview.Bound != nil {
		v.Text, v.Marked = difference(c.Ask.Past[n-1].Preview.Bound.Text, c.Preview.Bound.Text), true
	}
	rest := ""
	if len(v.Text) > MostPreview {
		rest = fmt.Sprintf("\n[… that is not all of it: it has %d characters", utf8.RuneCountInString(c.Preview.Bound.Text))
		if c.Preview.Bound.File.Blob != "" {
			rest += "; " + previewFile(c).Name + " has them"
		}
		rest += "]"
	}
	v.Text = speak.Clip(v.Text, MostPreview) + rest
	return v
}

// previewFile is a preview that is too long for a card.
func previewFile(c *thread.Call) chat.File {
	f := c.Preview.Bound.File
	f.Name = fmt.Sprintf("preview-%d.txt", c.Asked.Number)
	return f
}

// attaching posts a preview that is too long for the card which shows it next.
func (d *decision) attaching(c *thread.Call) Action {
	if c.Preview.Bound == nil || c.Preview.Bound.File.Blob == "" {
		return nil
	}
	name := fmt.Sprintf("preview/%s/%d", c.ID, c.Preview.Bound.Seq)
	if d.s.Has(name) {
		return nil
	}
	f := previewFile(c)
	p := chat.Post{Key: memory.PostKey(name, f.Blob), ReplyTo: c.Turn.ReplyTo(), File: &f}
	return Post{Post: p, Look: d.before(c.Preview.Bound.Seq)}
}

// previewingChange has the preview run of a call with other arguments, before these
// are taken.
func (d *decision) previewingChange(p thread.Proposal) Action {
	tool, _ := d.a.tool(p.Call.Tool)
	anybody := func(string) (bool, error) { return true, nil }
	if !tool.Preview || d.a.refuses(d.s, p, anybody) != "" {
		return nil
	}
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(p.Args)) != nil {
		return nil
	}
	next := p.Call.With(compact.String())
	if next.Preview.Bound != nil {
		return nil
	}
	if why := d.barsPreview(tool, next); why != "" {
		return Record{[]memory.Body{d.unseen(next, why)}}
	}
	return Preview{Calls: []memory.Call{next.Call}}
}

// mustAsk says whether a call may not run before people were asked, or asked anew.
func (d *decision) mustAsk(c *thread.Call) bool {
	if d.differs(c) {
		return true
	}
	tool, _ := d.a.tool(c.Tool)
	risk, _ := d.risk(tool, c)
	return risk != Auto && c.Asked == nil && !c.RunsGranted(d.now())
}
