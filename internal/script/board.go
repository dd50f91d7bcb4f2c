// Package script plays conversations for tests: a model that says what a script
// tells it to, tools that do nothing, and a board that stands for a platform
// and writes down what people would see. Nothing in it is a mock of nod's own
// parts: the agent, the run and the store are the real ones.
package script

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"nod/chat"
)

// Board is a platform on which nothing is lost and no time passes. It writes
// one line for everything that people would notice.
type Board struct {
	chat.Unable

	Platform string
	Groups   map[string][]chat.UserID // "group:S1" → who is in it
	DM       bool                     // nobody can be in a group
	Growing  bool                     // lines for thoughts as they grow, too
	Forms    bool                     // it asks by a form what was wrong with an answer
	Statuses bool                     // lines for what the steps say is being done
	Signs    bool                     // lines for the sign of work, too
	Wordless bool                     // its sign of work has no words

	mu    sync.Mutex
	lines []string
	shown map[chat.MessageRef]chat.Post // how each post looks now
	count map[string]int                // posts made under a key
	nth   map[chat.MessageRef]int       // of all posts
	fail  int
	// answer is the newest one.
	answer chat.MessageRef
	deaf   int
	grown  bool          // something is shown that is no message yet
	before time.Duration // a card is under way
	after  time.Duration // a card stands, and its emoji are put
	stood  map[chat.MessageRef]time.Time
	folds  time.Duration // the last edit of steps takes
	shut   map[chat.UserID]bool
	barred map[chat.UserID]string
}

// Unheard makes the next n posts stand, and say that they failed.
func (b *Board) Unheard(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deaf = n
}

// Slow delays a card by before, and then its emoji and the platform's answer by after.
func (b *Board) Slow(before, after time.Duration) { b.before, b.after = before, after }

// fold is how much later the last form of steps is to be seen, in the bubble's time: the
// next turn does not wait for it.
const fold = time.Millisecond

// Folds has the last edit of each steps message take that long.
func (b *Board) Folds(long time.Duration) { b.folds = long }

// Fail makes the next n posts and edits fail.
func (b *Board) Fail(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = n
}

func (b *Board) failing() bool {
	if b.fail == 0 {
		return false
	}
	b.fail--
	return true
}

// Lines gives what was noticed since the last call.
func (b *Board) Lines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.lines
	b.lines = nil
	return out
}

// Count says how often a post was made under the key.
func (b *Board) Count(key string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count[key]
}

// Approvals gives the approval messages that wait, oldest first.
func (b *Board) Approvals() []chat.MessageRef {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []chat.MessageRef
	for ref, p := range b.shown {
		if p.Approval != nil && p.Approval.Outcome == "" {
			out = append(out, ref)
		}
	}
	return out
}

// StepsMessages says how many steps messages stand.
func (b *Board) StepsMessages() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.shown {
		if p.Steps != nil {
			n++
		}
	}
	return n
}

// Find gives the approval message of a tool, the newest when there are more, or the one
// with a number, as in #2.
func (b *Board) Find(tool string) (chat.MessageRef, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var found chat.MessageRef
	for ref, p := range b.shown {
		if p.Approval != nil && (p.Approval.Tool == tool || fmt.Sprintf("#%d", p.Approval.Number) == tool) && p.Approval.Home.Channel == "" && b.nth[ref] > b.nth[found] {
			found = ref
		}
	}
	return found, !found.IsZero()
}

// FindIn gives the approval message of a tool in another place.
func (b *Board) FindIn(place, tool string) (chat.MessageRef, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ref, p := range b.shown {
		if p.Approval != nil && p.Approval.Tool == tool && ref.Channel == place {
			return ref, true
		}
	}
	return chat.MessageRef{}, false
}

// Answer gives the reference of the newest answer.
func (b *Board) Answer() chat.MessageRef {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.answer
}

// Steps gives the reference of the newest steps message.
func (b *Board) Steps() (chat.MessageRef, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ref, p := range b.shown {
		if p.Steps != nil {
			return ref, true
		}
	}
	return chat.MessageRef{}, false
}

func (b *Board) note(format string, args ...any) {
	b.lines = append(b.lines, fmt.Sprintf(format, args...))
}

// Note writes a line of the test's own, in its place among the others.
func (b *Board) Note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note(format, args...)
}

// Post implements run.Drawer.
func (b *Board) Post(_ context.Context, thread chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error) {
	if isPlace(thread.Channel) {
		time.Sleep(later(thread.Channel))
	}
	if p.Approval != nil {
		time.Sleep(b.before)
		defer time.Sleep(b.after) // when nothing is locked any more
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.lines)
	ref, err := b.post(thread, p, look)
	if isPlace(thread.Channel) {
		b.placed(thread.Channel, n)
	}
	if err == nil && b.deaf > 0 {
		b.deaf--
		return chat.MessageRef{}, fmt.Errorf("the connection broke")
	}
	return ref, err
}

func (b *Board) post(thread chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error) {
	if b.failing() {
		return chat.MessageRef{}, fmt.Errorf("the platform is down")
	}
	if b.shown == nil {
		b.shown, b.count, b.nth = map[chat.MessageRef]chat.Post{}, map[string]int{}, map[chat.MessageRef]int{}
		b.stood = map[chat.MessageRef]time.Time{}
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(thread.String()))
	ref := chat.MessageRef{Platform: thread.Platform, Channel: thread.Channel, ID: fmt.Sprintf("%08x-%s", h.Sum32(), p.Key)}
	if _, there := b.shown[ref]; there && look {
		return ref, nil
	}
	if b.count[p.Key]++; b.count[p.Key] > 1 {
		b.note("posted %s again", p.Key)
	}
	b.shown[ref], b.nth[ref], b.stood[ref] = p, len(b.nth)+1, time.Now()
	switch {
	case p.Approval != nil:
		b.note("ask %s %s of %s%s%s", p.Approval.Tool, p.Approval.Args, strings.Join(p.Approval.Approvers, ", "), because(p.Approval.Why), marked(p.Approval.Marks))
		b.preview(p.Approval.Preview)
		b.votes(chat.Approval{}, *p.Approval)
		b.outcome(*p.Approval)
	case p.Steps != nil && !p.Steps.Done:
		b.status("", p.Steps.Status)
	case p.Steps != nil && p.Steps.Done:
		b.note("steps %s: %s", p.Steps.Status, uses(*p.Steps))
	case p.File != nil:
		b.note("file %s", p.File.Name)
	case p.Text != nil && p.Text.Notice:
		b.note("notice %s%s", summoned(p.Text.Summons), p.Text.Markdown)
	case p.Text != nil:
		b.answer, b.grown = ref, false
		b.note("answer %s", p.Text.Markdown)
		if e := p.Text.Earlier; e != nil {
			b.note("under it, %s: %s", e.Title(), e.Markdown)
			if b.shown[e.Ref].Text == nil {
				b.note("which stands nowhere")
			}
		}
	}
	return ref, nil
}

// later is how much later, in the bubble's time, another place shows what the thread
// shows: each at its own time, so that the order is always the same.
func later(place string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(place))
	return 5*time.Millisecond + time.Duration(h.Sum32()%997)*10*time.Microsecond
}

// Copy implements run.Platform: every place is a channel of its own, but one that is
// closed.
func (b *Board) Copy(_ context.Context, place string, p chat.Post, look bool) (chat.ThreadID, chat.MessageRef, error) {
	time.Sleep(later(place))
	b.mu.Lock()
	defer b.mu.Unlock()
	at := chat.ThreadID{Platform: b.Platform, Channel: place}
	if p.Approval != nil {
		at.Platform = p.Approval.Home.Platform
	}
	if b.closed(place) {
		return at, chat.MessageRef{}, chat.Refused{Platform: "Board", Code: "closed"}
	}
	n := len(b.lines)
	ref, err := b.post(at, p, look)
	b.placed(place, n)
	return at, ref, err
}

// Closed says whether nothing can be shown in a place.
func (b *Board) Closed(place string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed(place)
}

func (b *Board) closed(place string) bool {
	who, _ := strings.CutPrefix(place, "user:")
	return strings.HasSuffix(place, "closed") || b.shut[chat.UserID(who)]
}

// Able implements run.Platform.
func (b *Board) Able() chat.Able {
	return chat.Able{Grows: true, Asks: b.Forms, Elsewhere: true, Wordless: b.Wordless, Channel: func(string) bool { return true }}
}

// Direct implements run.Platform.
func (b *Board) Direct(chat.ThreadID) bool { return b.DM }

// Stood implements run.Platform.
func (b *Board) Stood(ref chat.MessageRef) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stood[ref]
}

// isPlace says whether a channel is another place, of a card.
func isPlace(channel string) bool {
	return strings.HasPrefix(channel, "user:") || strings.HasPrefix(channel, "channel:")
}

// placed says of the lines from n on where they are to be seen.
func (b *Board) placed(place string, n int) {
	for i := n; i < len(b.lines); i++ {
		b.lines[i] = "in " + place + ": " + b.lines[i]
	}
}

// Shut has a person take no direct messages.
func (b *Board) Shut(who chat.UserID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shut == nil {
		b.shut = map[chat.UserID]bool{}
	}
	b.shut[who] = true
}

// Deciders implements run.Platform: it knows who is in the groups that there are.
func (b *Board) Deciders(_ context.Context, _ chat.ThreadID, rules []string, most int) (who []chat.User, unknown []string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failing() {
		return nil, nil, fmt.Errorf("the platform is down")
	}
	for _, rule := range rules {
		ids, ok := b.Groups[rule]
		if id, user := strings.CutPrefix(rule, "user:"); user {
			ids, ok = []chat.UserID{chat.UserID(id)}, true
		}
		if !ok {
			unknown = append(unknown, rule)
		}
		for _, id := range ids {
			who = append(who, chat.User{ID: id, Name: string(id)})
		}
	}
	return who[:min(len(who), most)], unknown, nil
}

// Edit implements run.Drawer.
func (b *Board) Edit(_ context.Context, _ chat.ThreadID, ref chat.MessageRef, p chat.Post) error {
	copied := p.Approval != nil && p.Approval.Home.Channel != ""
	if copied {
		time.Sleep(later(ref.Channel))
	}
	if p.Steps != nil && p.Steps.Done {
		time.Sleep(max(b.folds, fold)) // so that the order is always the same
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if copied {
		n := len(b.lines)
		defer func() { b.placed(ref.Channel, n) }()
	}
	final := p.Steps == nil || p.Steps.Done
	if final && b.failing() {
		return fmt.Errorf("the platform is down")
	}
	if was := b.shown[ref]; was.Steps != nil && p.Steps != nil && p.Steps.Version < was.Steps.Version {
		b.note("steps went back")
	}
	was := b.shown[ref]
	b.shown[ref] = p
	if p.Text != nil && p.Text.Notice && was.Text != nil {
		lines := strings.Split(p.Text.Markdown, "\n")
		b.note("now %s … %s", lines[0], lines[len(lines)-1])
	}
	if p.Approval != nil && was.Approval != nil && was.Approval.Args != p.Approval.Args {
		b.note("changed %s %s, it was %s, by %s", p.Approval.Tool, p.Approval.Args, p.Approval.Was, p.Approval.Editors[len(p.Approval.Editors)-1].Display())
		b.preview(p.Approval.Preview)
	}
	if p.Approval != nil && was.Approval != nil && !slices.Equal(was.Approval.Approvers, p.Approval.Approvers) {
		b.note("ask %s also of %s: %s", p.Approval.Tool, strings.Join(p.Approval.Approvers, ", "), strings.Join(p.Approval.Because(), "; "))
	}
	if p.Approval != nil && was.Approval != nil {
		b.votes(*was.Approval, *p.Approval)
	}
	if p.Approval != nil && was.Approval != nil && strings.Contains(p.Approval.Headline, "asked again") {
		b.note("%s: %s", p.Approval.Tool, p.Approval.Headline)
	}
	if p.Approval != nil && (was.Approval == nil || was.Approval.Outcome != p.Approval.Outcome) {
		b.outcome(*p.Approval)
	}
	if p.Approval != nil && was.Approval != nil {
		b.reason(*was.Approval, *p.Approval)
	}
	if p.Steps != nil && !p.Steps.Done && was.Steps != nil {
		b.status(was.Steps.Status, p.Steps.Status)
	}
	if p.Steps != nil && !p.Steps.Done && b.Growing {
		b.growing(p.Steps.Items)
	}
	if p.Steps != nil && p.Steps.Done {
		b.note("steps %s: %s", p.Steps.Status, uses(*p.Steps))
	}
	return nil
}

// Grow implements run.Platform.
func (b *Board) Grow(_ chat.ThreadID, posts []chat.Post) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.Growing {
		return
	}
	for _, p := range posts {
		if p.Steps != nil {
			b.growing(p.Steps.Items)
		} else {
			b.note("writing %s", p.Text.Markdown)
		}
	}
	if len(posts) == 0 && b.grown {
		b.note("nothing written stays")
	}
	b.grown = len(posts) > 0
}

// growing notes a thought that was not followed by a call yet.
func (b *Board) growing(items []chat.Step) {
	if len(items) > 0 && len(items[len(items)-1].Calls) == 0 {
		b.note("thinking %s", items[len(items)-1].Thought)
	}
}

// React implements run.Drawer.
func (b *Board) React(_ context.Context, ref chat.MessageRef, emoji string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note("mark %s on %s", emoji, ref.ID)
	return nil
}

// Whisper implements run.Drawer.
func (b *Board) Whisper(_ context.Context, _ chat.ThreadID, to chat.User, _ chat.MessageRef, text string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note("tell %s %s", to.Display(), text)
	return nil
}

// AskWhy implements run.Platform.
func (b *Board) AskWhy(_ context.Context, _ chat.ThreadID, to chat.User, about chat.MessageRef) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note("form for %s: what was wrong with the answer %v", to.Display(), about == b.answer)
	return nil
}

// Working implements run.Drawer.
func (b *Board) Working(_ chat.ThreadID, w chat.Work) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !b.Signs:
	case w.Waits:
		b.note("sign waits: %s", w)
	case w.What == "":
		b.note("sign off")
	default:
		b.note("sign %s", w)
	}
}

// Members implements run.Members.
func (b *Board) Members(_ context.Context, _ chat.ThreadID, rule string, who []chat.UserID) ([]chat.UserID, error) {
	members, ok := b.Groups[rule]
	if !ok {
		return nil, fmt.Errorf("no group %s", rule)
	}
	return slices.DeleteFunc(slices.Clone(who), func(u chat.UserID) bool { return !slices.Contains(members, u) }), nil
}

// Who implements run.Members.
func (b *Board) Who(_ context.Context, _ string, u chat.User) (chat.User, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u.Barred = b.barred[u.ID]
	u.Unheard = u.Barred != ""
	return u, nil
}

// Bar has somebody be one who may not decide; "" has them be one who may.
func (b *Board) Bar(who chat.UserID, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.barred == nil {
		b.barred = map[chat.UserID]string{}
	}
	b.barred[who] = why
}

// Possible implements run.Members.
func (b *Board) Possible(context.Context, chat.ThreadID, string) bool { return !b.DM }

func compact(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(raw)
}
