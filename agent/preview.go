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

// preview is what one came to.
type preview struct {
	memory.Previewed
	seq uint64
}

// ahead is what is known of what a call would do.
type ahead struct {
	previews map[string]*preview // by the digest of the arguments that they are of
	preview  *preview            // that the approval is bound to
	check    *preview            // that was made right before the effect
	anew     int                 // how often it was asked for again since its preview changed
	outdated bool                // of a call as it was: that is why it was asked for again
}

// sum is what an approval is bound to; "" without a preview.
func (p *preview) sum() string {
	if p == nil {
		return ""
	}
	return p.Sum
}

// previewed takes what a preview came to. Before a decision it is what people are
// shown; afterwards it is the look right before the effect.
func (s *state) previewed(e memory.Entry, b memory.Previewed) {
	c := s.calls[b.Call]
	if c == nil || c.started || c.result != nil {
		return
	}
	p := &preview{b, e.Seq}
	mine := b.Of == c.digest()
	if c.cleared(e.At) {
		if mine {
			c.check = p
		}
		return
	}
	if c.previews == nil {
		c.previews = map[string]*preview{}
	}
	c.previews[b.Of] = p
	if mine && c.asked == nil {
		c.preview, c.tied = p, ""
	}
}

// cleared says whether the call may run, as far as people have their say.
func (c *call) cleared(now time.Time) bool {
	return c.decided != nil && c.decided.Outcome == chat.Approved || c.asked == nil && c.runsGranted(now)
}

// outdate takes that a call is asked for, perhaps since its preview changed.
func (c *call) outdate(b memory.Asked) {
	if b.Changed {
		c.preview, c.grant, c.spent = c.check, nil, true
		c.anew += min(1, b.Again)
	}
	c.check, c.tied = nil, ""
}

// lacksPreview says whether the call can't be asked for yet, as nobody knows what its
// preview comes to.
func (d *decision) lacksPreview(c *call) bool {
	tool, _ := d.a.tool(c.Tool)
	return tool.Preview && c.asked == nil && c.preview == nil
}

// previewing has the previews run that are missing. What else there is to do meanwhile
// is done beside.
func (d *decision) previewing(last *step, beside Action) Action {
	var out Preview
	for _, c := range last.calls {
		tool, _ := d.a.tool(c.Tool)
		if c.result != nil || c.started || !d.lacksPreview(c) {
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
func (d *decision) barsPreview(tool Tool, c *call) string {
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
func (d *decision) unseen(c *call, why string) memory.Previewed {
	return Previewed(c.Call, chat.Preview{Err: why}, 0)
}

// Previewed is the entry for what the preview of a call came to.
func Previewed(c memory.Call, p chat.Preview, took time.Duration) memory.Previewed {
	k := call{Call: c}
	return memory.Previewed{
		Call: c.ID, Of: k.digest(), Sum: memory.PreviewSum(p.Text, p.Err), Text: p.Text, Err: p.Err, Took: took,
	}
}

// looking has the preview of a call that may run looked at once more; nil when that
// was done, or need not be.
func (d *decision) looking(c *call) Action {
	tool, _ := d.a.tool(c.Tool)
	if !tool.Preview || c.asked == nil && c.grant == nil || c.check != nil && !d.before(c.check.seq) {
		return nil
	}
	if why := d.barsPreview(tool, c); why != "" {
		return Record{[]memory.Body{d.unseen(c, why)}}
	}
	return Preview{Calls: []memory.Call{c.Call}}
}

// differs says whether the look right before the effect showed something else than
// what people approved.
func (d *decision) differs(c *call) bool {
	return c.cleared(d.now()) && !c.started && c.result == nil && c.check != nil && !d.before(c.check.seq) && c.check.sum() != c.preview.sum()
}

// unsteady is the result of a call that is not asked for anew although its preview
// changed.
func (d *decision) unsteady(c *call) (memory.Result, bool) {
	if !d.differs(c) || d.lapsed(c) {
		return memory.Result{}, false
	}
	tool, _ := d.a.tool(c.Tool)
	r := memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallDenied}
	switch {
	case c.check.Err != "" && tool.PreviewRequired:
		r.Text = "denied: " + textNoPreview(c.check) + ". The call did not run."
	case c.anew >= mostAnew:
		r.Text = "denied: the preview keeps changing"
	}
	return r, r.Text != ""
}

func textNoPreview(p *preview) string { return "its preview failed: " + p.Err }

// outdated opens an approval, or opens it again, of a call whose preview changed.
func (d *decision) outdated(c *call, number int) memory.Asked {
	tool, _ := d.a.tool(c.Tool)
	next := *c
	next.preview = c.check
	_, why := d.risk(tool, c)
	a := memory.Asked{
		Call: c.ID, Number: number, Tool: c.Tool, Digest: d.a.digest(&next), Requester: c.turn.requester, Rules: tool.Rules,
		Marks: d.marks(c), Changed: true, Shown: d.shownOf(tool.Rules),
	}
	changed := "The preview changed since this was allowed for a while, so it asks."
	if c.asked != nil {
		changed, a.Again = "The preview changed since this was approved, so it asks anew.", c.asked.Again+1
	}
	a.Why = strings.TrimSpace(changed + " " + why)
	return a
}

// hopeless denies a call that may not be approved, since its preview failed.
func (d *decision) hopeless(c *call, asked memory.Asked) []memory.Body {
	return []memory.Body{asked, memory.Decided{Call: c.ID, Outcome: chat.Denied, Reason: textNoPreview(c.preview)}}
}

// MostPreview is how much of a preview a card shows, in bytes; what is longer goes
// along as a file.
const MostPreview = 1200

// previewView is the preview as a card shows it.
func (c *call) previewView() *chat.Preview {
	if c.preview == nil {
		return nil
	}
	v := &chat.Preview{Text: c.preview.Text, Err: c.preview.Err}
	if n := len(c.past); n > 0 && c.past[n-1].outdated && c.past[n-1].preview != nil {
		v.Text, v.Marked = difference(c.past[n-1].preview.Text, c.preview.Text), true
	}
	rest := ""
	if len(v.Text) > MostPreview {
		rest = fmt.Sprintf("\n[… that is not all of it: it has %d characters", utf8.RuneCountInString(c.preview.Text))
		if c.preview.File.Blob != "" {
			rest += "; " + c.previewFile().Name + " has them"
		}
		rest += "]"
	}
	v.Text = speak.Clip(v.Text, MostPreview) + rest
	return v
}

// previewFile is a preview that is too long for a card.
func (c *call) previewFile() chat.File {
	f := c.preview.File
	f.Name = fmt.Sprintf("preview-%d.txt", c.asked.Number)
	return f
}

// attaching posts a preview that is too long for the card which shows it next.
func (d *decision) attaching(c *call) Action {
	if c.preview == nil || c.preview.File.Blob == "" {
		return nil
	}
	name := fmt.Sprintf("preview/%s/%d", c.ID, c.preview.seq)
	if d.s.has(name) {
		return nil
	}
	f := c.previewFile()
	p := chat.Post{Key: memory.PostKey(name, f.Blob), ReplyTo: c.turn.replyTo(), File: &f}
	return Post{Post: p, Look: d.before(c.preview.seq)}
}

// previewingChange has the preview run of a call with other arguments, before these
// are taken.
func (d *decision) previewingChange(p proposal) Action {
	tool, _ := d.a.tool(p.call.Tool)
	anybody := func(string) (bool, error) { return true, nil }
	if !tool.Preview || d.a.refuses(d.s, p, anybody) != "" {
		return nil
	}
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(p.args)) != nil {
		return nil
	}
	next := *p.call
	next.Args, next.sum = compact.String(), ""
	if next.previews[next.digest()] != nil {
		return nil
	}
	if why := d.barsPreview(tool, &next); why != "" {
		return Record{[]memory.Body{d.unseen(&next, why)}}
	}
	return Preview{Calls: []memory.Call{next.Call}}
}

// mustAsk says whether a call may not run before people were asked, or asked anew.
func (d *decision) mustAsk(c *call) bool {
	if d.differs(c) {
		return true
	}
	tool, _ := d.a.tool(c.Tool)
	risk, _ := d.risk(tool, c)
	return risk != Auto && c.asked == nil && !c.runsGranted(d.now())
}
