package chat

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrGone is an adapter's error for a post that can never succeed: the channel is gone,
// or the bot may not write there.
var ErrGone = errors.New("the thread can't be written to")

// ErrElsewhere is an adapter's error for a place on another platform.
var ErrElsewhere = errors.New("this place is on another platform")

// ErrNoFile says that a file's content was erased. The adapter says so in the thread
// instead of posting the file.
var ErrNoFile = errors.New("the file is not kept any more")

// NoRoomError says that a file exceeds the quota.
type NoRoomError struct{ Why string }

// Error says which limit it is.
func (e NoRoomError) Error() string { return e.Why }

// Post is one message of nod in a thread: exactly one of Text, Steps, Approval and File
// is set. All attempts to make this post have the same Key, and no other post of the
// thread has it. So a platform, or an adapter that looks first, can tell a repeat from
// a new message.
type Post struct {
	Key      string     `json:"key"`
	ReplyTo  MessageRef `json:"reply_to,omitzero"` // the message it answers
	Text     *Text      `json:"text,omitempty"`
	Steps    *Steps     `json:"steps,omitempty"`
	Approval *Approval  `json:"approval,omitempty"`
	File     *File      `json:"file,omitempty"` // a plot, a table: its content is in the store, under File.Blob
}

// Text is an answer or a notice, in CommonMark.
type Text struct {
	Markdown string `json:"markdown"`
	Notice   bool   `json:"notice,omitempty"` // nod speaking of itself, not the model's answer
	// Alone replaces Markdown in a conversation with its addressee alone: it may name
	// conversations that others don't see.
	Alone string `json:"alone,omitempty"`
	// Earlier is the answer in whose place this one stands, where it is another try.
	Earlier *Earlier `json:"earlier,omitempty"`
	// Steps are those of the turn that it ends, where no message shows them.
	Steps *Steps `json:"steps,omitempty"`
	// Waits is who waits for it, where that need not be who wrote the message that it
	// answers: in another try, which somebody asked for later.
	Waits *Waiter `json:"waits,omitempty"`
	// Summons calls people, with the reason.
	Summons *Summons `json:"summons,omitempty"`
}

// Summons mentions the approvers of a card, before a text that calls them. The card is
// linked, or answered if the platform can do that. Without a card, the text itself
// waits for them.
type Summons struct {
	Card      MessageRef `json:"card"`
	Approvers []string   `json:"approvers"` // as in [Approval]
	Requester User       `json:"requester"`
	Exclude   []User     `json:"exclude,omitempty"`
	Quiet     bool       `json:"quiet,omitempty"` // they are not mentioned after all
}

// Waiter is somebody who waits for an answer, and since when.
type Waiter struct {
	By    User      `json:"by"`
	Since time.Time `json:"since"`
}

// Earlier is an answer in whose place a later one stands.
type Earlier struct {
	Ref      MessageRef `json:"ref"`
	Try      int        `json:"try"`
	Markdown string     `json:"markdown"`
}

// Title is the heading of an earlier answer.
func (e *Earlier) Title() string { return fmt.Sprintf("Earlier answer (try %d)", e.Try) }

// Linked is the text with a link to the earlier answer below, for a platform without
// folding; link gives the address of a message, or "".
func (t *Text) Linked(link func(MessageRef) string) *Text {
	if t.Earlier == nil {
		return t
	}
	to := link(t.Earlier.Ref)
	if to == "" {
		return t
	}
	out := *t
	out.Markdown += "\n\n[" + t.Earlier.Title() + "](" + to + ")"
	return &out
}

// Confided is the post for a conversation with its addressee alone.
func (p Post) Confided() Post {
	if p.Text != nil && p.Text.Alone != "" {
		p.Text = &Text{Markdown: p.Text.Alone, Notice: p.Text.Notice}
	}
	return p
}

// Steps is the progress of one turn: the reply that folds away.
type Steps struct {
	Turn    string        `json:"turn"`
	Version uint64        `json:"version"` // grows with every change; an older one never replaces a newer one
	Done    bool          `json:"done"`
	Status  string        `json:"status"` // the current step in a few words; the outcome when done
	Items   []Step        `json:"items"`
	Took    time.Duration `json:"took"`
	Tokens  Tokens        `json:"tokens"`
	Cost    float64       `json:"cost,omitempty"` // money, where prices are known
}

// Step is one model call: its thought, and its tool calls.
type Step struct {
	Thought string     `json:"thought,omitempty"`
	Calls   []ToolCall `json:"calls,omitempty"`
}

// ToolCall is an action and, once there is one, its observation.
type ToolCall struct {
	ID          string        `json:"id"`
	Tool        string        `json:"tool"`
	Args        string        `json:"args"` // JSON, as the tool gets it
	State       CallState     `json:"state"`
	Observation string        `json:"observation,omitempty"`
	Took        time.Duration `json:"took,omitempty"`
	// Again says that a person may edit it and run it again.
	Again bool `json:"again,omitempty"`
	// Inquirer waits, while the call runs, for the requester's answer.
	Inquirer string `json:"inquirer,omitempty"`
}

// CallState says how far a tool call has come.
type CallState string

// The states of a tool call. Those from CallDone on are final.
const (
	CallPlanned   CallState = "planned"
	CallAsking    CallState = "asking" // waits for an approval
	CallRunning   CallState = "running"
	CallDone      CallState = "done"
	CallFailed    CallState = "failed"
	CallDenied    CallState = "denied"
	CallExpired   CallState = "expired"
	CallCancelled CallState = "cancelled"
	CallUnknown   CallState = "outcome unknown"
)

// Tokens counts a turn's tokens.
type Tokens struct {
	Prompt     int `json:"prompt,omitempty"` // cached ones included
	Cached     int `json:"cached,omitempty"`
	Completion int `json:"completion,omitempty"`
}

// Rules of who may approve that name nobody.
const (
	Anyone    = "anyone"
	Requester = "requester" // the requester of the turn
)

// Approval is the message that asks people to let one call run, and later shows its
// outcome.
type Approval struct {
	Call      string    `json:"call"`
	Tool      string    `json:"tool"`
	Args      string    `json:"args"`   // exact, JSON
	Digest    string    `json:"digest"` // of tool and arguments, hex
	Requester User      `json:"requester"`
	Approvers []string  `json:"approvers"` // requester, anyone, user:ID, group:ID, role:ID
	Quorum    int       `json:"quorum"`
	Exclude   []User    `json:"exclude,omitempty"` // may not approve, even if Approvers includes them
	Approve   []string  `json:"approve"`           // emoji; the bot puts the first on the message
	Deny      []string  `json:"deny"`
	Ways      []Way     `json:"ways,omitempty"` // which approve; none: all do
	Deadline  time.Time `json:"deadline"`
	Why       string    `json:"why,omitempty"`     // set when the call is asked for a special reason
	Marks     []string  `json:"marks,omitempty"`   // which arguments no person wrote, a line each
	Number    int       `json:"number,omitempty"`  // counts up in the thread
	Was       string    `json:"was,omitempty"`     // the arguments before people changed them, like Args
	Editors   []User    `json:"editors,omitempty"` // who did
	Outcome   Outcome   `json:"outcome,omitempty"`
	By        []User    `json:"by,omitempty"` // who approved so far, or decided
	// Headline is the first line: `Approval 3: NAME` while it waits, and then the
	// outcome, such as `Approved by ada · done in 2 s`.
	Headline string `json:"headline,omitempty"`
	// Parameters is the JSON Schema of the tool's arguments, for a form in which
	// people change them; empty: any object. Grant is for how long an approver may
	// allow the same call again; 0: not at all. Both are of an approval that waits.
	Parameters string        `json:"parameters,omitempty"`
	Grant      time.Duration `json:"grant,omitempty"`
	// Elsewhere says that the card stands in another place than the conversation:
	// the call can't be changed from there.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Home is the thread of the request, if this card stands in another place: its
	// forms are about that thread.
	Home ThreadID `json:"home,omitzero"`
	// Card is the card in that thread, or the message that it answers as long as none stands.
	Card MessageRef `json:"card,omitzero"`
	// Direct says that this other place is a direct conversation with somebody who
	// may decide.
	Direct bool `json:"direct,omitempty"`
	// Quiet says that nobody is mentioned.
	Quiet bool `json:"quiet,omitempty"`
	// Unheeded is for how long nobody had decided when more people were let decide,
	// who are in Approvers then; 0: they were not.
	Unheeded time.Duration `json:"unheeded,omitempty"`
	Reason   string        `json:"reason,omitempty"` // why it was denied, in the words of who denied it
	// Preview is the preview of the call, or nil. The approval binds it.
	Preview *Preview `json:"preview,omitempty"`
}

// Names joins the display names of people.
func Names(users []User) string {
	out := make([]string, len(users))
	for i, u := range users {
		out[i] = u.Display()
	}
	return strings.Join(out, ", ")
}

// mostWas is how much of earlier arguments a card shows, in bytes.
const mostWas = 500

// Because gives lines with the reason for asking, the arguments that no person wrote,
// and people's changes.
func (a *Approval) Because() []string {
	var out []string
	if a.Why != "" {
		out = append(out, a.Why)
	}
	out = append(out, a.Marks...)
	if a.Unheeded > 0 && a.Outcome == "" {
		out = append(out, "Nobody decided for long, so more people may decide now.")
	}
	if len(a.Editors) > 0 {
		was := a.Was
		if len(was) > mostWas {
			was = strings.ToValidUTF8(was[:mostWas], "") + "…"
		}
		out = append(out, fmt.Sprintf("Changed by %s. It was: %s", Names(a.Editors), was))
	}
	return out
}

// Ballot are the emoji that the bot itself puts on the message, for people to
// click on: those that decide.
func (a *Approval) Ballot() []string {
	var out []string
	for i, list := range [][]string{a.Approve, a.Deny} {
		if len(list) > 0 && (i > 0 || ByReaction.Approves(a.Ways)) {
			out = append(out, list[0])
		}
	}
	return out
}

// Outcome is the end of an approval; empty while it is open. People read these words at
// the end of the approval message.
type Outcome string

// The outcomes of an approval.
const (
	Approved  Outcome = "Approved"
	Denied    Outcome = "Denied"
	Expired   Outcome = "Expired"
	Cancelled Outcome = "Cancelled"
)

// Shown is what a card shows now. Digest is the beginning of its digest; "" where that can't
// be read.
type Shown struct{ Headline, Digest string }
