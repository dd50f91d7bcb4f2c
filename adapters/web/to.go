package web

import (
	"fmt"
	"html"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"nod/adapters/web/door"
	"nod/chat"
	"nod/chat/form"
	"nod/chat/markdown"
	"nod/chat/summary"
	"nod/front"
)

// card is an item as the template draws it.
type card struct {
	ID, Ref     string // of the element; of the message
	Place       uint64 // in the order of messages
	Kind, State string
	Who, Letter string
	Bot, Own    bool
	At          time.Time
	Label       string // what it is, for those who hear it
	Text        string // what a person wrote
	Edited      bool
	Markdown    string // what the bot wrote
	Earlier     *chat.Earlier
	Files       []attached
	Marks       []shownMark
	Thread      *opening
	Steps       *steps
	Approval    *approval
	Acts        bool        // people may do something about it here; else it is there to be read
	Edits       bool        // a call can be changed here
	Rerun       *front.Form // that whoever looks at it has opened; of an approval it asks for a code
	AsksWrong   bool        // whoever looks at it is asked what was wrong with it
	Again       bool        // another try can be asked for
	View        view        // as whom it is seen
	Quick       string      // the emoji at hand, where they are not the usual ones
}

// The kinds of messages.
const (
	kindMessage  = "message"
	kindSteps    = "steps"
	kindApproval = "approval"
	kindAnswer   = "answer"
	kindFile     = "file"
)

// opening is the way into a thread.
type opening struct {
	URL     string
	Place   string // where it leads, out of the list of what waits
	Replies int
	Waits   int
}

type shownMark struct {
	Emoji, Names string
	Count        int
	Mine         bool
}

type attached struct {
	Name, Note, URL string
	Picture         bool
}

type steps struct {
	Done    bool
	Waiting bool
	Status  string
	Mark    string // of a turn that is over
	Line    string // what stays when they are folded
	Items   []stepView
	Reruns  []front.Again
	Current *stepView
}

type stepView struct {
	Number  int
	Thought string
	Calls   []callView
}

type callView struct {
	Tool, Args, State, Took string
	Running                 bool
	Observation             long
}

// long is a text that may be folded.
type long struct{ Head, Rest string }

type approval struct {
	Headline, Tool, Args, Why, Terms, Digest, Reason, So string
	Preview, Would                                       string // what the call would do: a title, and what the program wrote
	Waits                                                bool
	Ballot                                               ballot
	Coded                                                bool // Approve asks for a code
	AsksWhy                                              bool // whoever looks at it denied it, and has not said why

	Whole  string       // the whole digest
	Fields []form.Field // in which the call is changed
	Grant  string       // what the button says that allows it for a while
}

// quick are the emoji that are at hand.
var quick = []string{"👍", "👎", "✅", "❌", "👀", "🔄", "🛑"}

// quickOf are the emoji that are at hand for an item where they are not the usual ones: on
// a card that waits those that decide.
func quickOf(it item) string {
	if !it.waiting() {
		return ""
	}
	var out []string
	for _, emoji := range slices.Concat(it.post.Approval.Approve, it.post.Approval.Deny, []string{chat.EmojiSeen, chat.EmojiStop}) {
		if emoji = door.Clean(chat.NormalEmoji(emoji)); !slices.Contains(out, emoji) {
			out = append(out, emoji)
		}
	}
	return strings.Join(out, " ")
}

// cardOf makes an item ready to be drawn in a pane.
func cardOf(it item, v view, pane string) card {
	c := card{
		ID: cardID(pane, it.ref), Ref: it.ref.String(), Place: it.place, At: it.at, View: v, Quick: quickOf(it),
		Who: nod, Letter: "n", Bot: true, Kind: kindMessage,
	}
	c.Marks, c.Acts = marksOf(it, v.Me.ID), it.thread.Platform == Platform
	switch {
	case it.message != nil:
		c.ofMessage(it, v)
	case it.post.Text != nil:
		c.ofText(it)
		c.AsksWrong = slices.Contains(it.wrong, v.Me.ID)
	case it.post.Steps != nil:
		c.Kind, c.Steps = kindSteps, stepsOf(it.post.Steps)
		c.State, c.Label = stepsState(it.post.Steps), "Steps"
		c.Rerun = it.again[v.Me.ID]
	case it.post.Approval != nil:
		c.Kind, c.Approval = kindApproval, approvalOf(it.post.Approval, it.at)
		c.State, c.Label = approvalState(it.post.Approval), "Approval"
		c.Rerun = it.again[v.Me.ID]
		c.Edits = c.Acts && !it.post.Approval.Elsewhere
		if c.Approval.Waits {
			c.Approval.Ballot = ballotOf(it, v.Me.ID)
		}
		c.Approval.AsksWhy = it.why == v.Me.ID && it.post.Approval.Reason == ""
	case it.post.File != nil:
		c.Kind, c.State, c.Label = kindFile, "kept", "File"
		c.Files = []attached{attachedOf(it, 0, *it.post.File)}
		if it.post.File.Blob == "" {
			c.State = "gone"
		}
	}
	if it.only != "" {
		c.State = "private"
	}
	if it.gone {
		c.State = "gone"
	}
	if it.grows {
		c.State = "growing"
	}
	c.Thread = openingOf(it, v, pane)
	return c
}

func openingOf(it item, v view, pane string) *opening {
	switch {
	case pane == paneThread || v.flat():
		return nil
	case v.Channel == waitingName:
		return &opening{URL: v.to(it.thread, it.ref), Place: v.at(it.thread.Channel, "").title()}
	}
	return &opening{URL: v.at(v.Channel, it.thread.Root).url("/"), Replies: it.replies, Waits: it.waits}
}

func (c *card) ofMessage(it item, v view) {
	m := it.message
	c.Who, c.Bot, c.Text, c.State = door.Clean(m.From.Display()), m.From.Bot, door.Clean(m.Text), "sent"
	c.Letter = string([]rune(c.Who + "?")[:1])
	c.Own = m.From.ID == v.Me.ID
	c.Label = "Message"
	c.Edited = it.edited
	if it.deleted {
		c.State, c.Text, c.Own = "deleted", "", false
		return
	}
	if slices.ContainsFunc(it.reactions, func(m mark) bool { return m.emoji == chat.EmojiSeen && slices.Contains(m.by, bot) }) {
		c.State = "seen"
	}
	for i, f := range m.Files {
		c.Files = append(c.Files, attachedOf(it, i, f))
	}
}

func (c *card) ofText(it item) {
	t := it.post.Text
	c.Again = !t.Notice || strings.HasPrefix(it.post.Key, "answer/") // a turn's end, whatever it is
	c.Kind, c.State, c.Label = kindAnswer, "done", "Answer"
	if t.Notice {
		c.State, c.Label = "notice", "Notice"
	}
	c.Markdown, c.Earlier = t.Markdown, t.Earlier
}

// rich draws an answer. The renderer lets nothing through that is not text and its layout.
func rich(text string) template.HTML { return template.HTML(markdown.HTML(door.Clean(text))) } //nolint:gosec // see above

func marksOf(it item, me chat.UserID) []shownMark {
	var out []shownMark
	for _, m := range it.reactions {
		if !it.shows(m) {
			continue
		}
		names := make([]string, len(m.by))
		for i, id := range m.by {
			names[i] = door.Clean(string(id))
		}
		out = append(out, shownMark{door.Clean(m.emoji), strings.Join(names, ", "), len(m.by), slices.Contains(m.by, me)})
	}
	return out
}

// pictures are what a browser may show in place.
var pictures = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

func attachedOf(it item, n int, f chat.File) attached {
	out := attached{Name: chat.FileName(f.Name), Note: size(f.Size)}
	if f.Blob == "" {
		out.Note = "not kept"
		return out
	}
	q := url.Values{"ref": {it.ref.String()}, "n": {strconv.Itoa(n)}}
	out.URL, out.Picture = "/file?"+q.Encode(), slices.Contains(pictures, f.MediaType)
	return out
}

func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

func stepsState(s *chat.Steps) string {
	switch {
	case s.Done:
		return "done"
	case asks(s):
		return "waiting"
	}
	return "running"
}

// asks says whether the turn goes on once somebody has approved.
func asks(s *chat.Steps) bool {
	waits := false
	for _, item := range s.Items {
		for _, c := range item.Calls {
			if c.State == chat.CallRunning {
				return false
			}
			waits = waits || c.State == chat.CallAsking
		}
	}
	return waits
}

func stepsOf(s *chat.Steps) *steps {
	out := &steps{Done: s.Done, Waiting: asks(s), Status: door.Clean(s.Status)}
	for i, item := range s.Items {
		v := stepView{Number: i + 1, Thought: door.Clean(item.Thought)}
		for _, c := range item.Calls {
			v.Calls = append(v.Calls, callOf(c))
		}
		out.Items = append(out.Items, v)
	}
	if n := len(out.Items); n > 0 && !s.Done {
		out.Current = &out.Items[n-1]
	}
	out.Mark, out.Line, out.Reruns = summary.Mark(s), summary.Folded(s, door.Clean), front.Reruns(s, func(chat.ToolCall) bool { return s.Done })
	return out
}

func callOf(c chat.ToolCall) callView {
	v := callView{Tool: door.Clean(c.Tool), Args: chat.Exact(c.Args), State: door.Clean(string(c.State))}
	v.Running = c.State == chat.CallRunning
	if c.Took > 0 {
		v.Took = summary.Took(c.Took)
	}
	v.Observation = foldText(door.Clean(c.Observation))
	return v
}

// Bounds of a text that is shown without being asked for.
const (
	mostLines = 12
	mostShown = 1200 // characters
)

// foldText keeps the beginning of a text apart from the rest.
func foldText(s string) long {
	s = strings.TrimRight(s, "\n ")
	at, lines := 0, 0
	for i, r := range s {
		if r == '\n' {
			lines++
		}
		if lines == mostLines || at == mostShown {
			return long{s[:i], s[i:]}
		}
		at++
	}
	return long{Head: s}
}

func approvalState(p *chat.Approval) string {
	if p.Outcome == "" {
		return "waiting"
	}
	return strings.ToLower(string(p.Outcome))
}

// exact is a text of an approval: what door.Clean would take out is written out.
func exact(s string) string { return door.Clean(chat.Exact(s)) }

// approvalOf draws an approval that was asked for at a time.
func approvalOf(p *chat.Approval, at time.Time) *approval {
	out := &approval{
		Headline: exact(p.Headline), Tool: exact(p.Tool), Args: chat.Exact(p.Args), Why: exact(strings.Join(p.Because(), "\n")),
		Digest: door.Clean(p.Digest[:min(len(p.Digest), 12)]), Reason: exact(p.Reason), Waits: p.Outcome == "", Coded: chat.NeedsCode(p.Ways),
	}
	if out.Reason != "" && strings.Contains(out.Headline, out.Reason) {
		out.Reason = "" // said already
	}
	out.Terms = summary.Terms(p, at, exact)
	if out.Waits { // what came of it the headline says
		out.So = summary.SoFar(p, exact(chat.Names(p.By)))
		out.Whole, out.Fields = door.Clean(p.Digest), form.Of(p.Parameters, p.Args, wide)
	}
	if out.Waits && p.Grant > 0 {
		out.Grant = p.GrantLabel()
	}
	if p.Preview != nil {
		out.Preview, out.Would = exact(p.Preview.Title()), chat.Exact(p.Preview.Text)
	}
	return out
}

// addressPattern matches an address of the web in a text, without what ends a sentence.
var addressPattern = regexp.MustCompile(`https?://[^\s<>"'` + "`" + `]*[^\s<>"'` + "`" + `.,;:!?)\]}]`)

// linked is a text with its addresses as links.
func linked(text string) template.HTML {
	var b strings.Builder
	at := 0
	for _, m := range addressPattern.FindAllStringIndex(text, -1) {
		to := html.EscapeString(text[m[0]:m[1]])
		b.WriteString(html.EscapeString(text[at:m[0]]) + `<a href="` + to + `" target="_blank" rel="noopener noreferrer nofollow">` + to + "</a>")
		at = m[1]
	}
	return template.HTML(b.String() + html.EscapeString(text[at:])) //nolint:gosec // all of it is escaped
}
