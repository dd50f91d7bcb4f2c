package memory

import (
	"encoding/json"
	"time"

	"nod/chat"
	"nod/chat/when"
	"nod/llm"
)

// Entry is one line of a thread's log. The store sets Seq and At when the entry enters
// the log. Seq grows by one, and is never used twice in a thread, not even after
// `forget`. At is the store's clock, the only clock for deadlines: the time of the Put
// for inbox entries, of the Commit for the others.
type Entry struct {
	Seq  uint64
	At   time.Time
	Body Body
}

// Body is the content of an entry. The kinds are the types of this file; a kind
// that this version does not know is an [Unknown].
type Body interface{ Kind() string }

// Actions of people and clocks. These enter through the inbox.
type (
	// Message is a message to the bot, or one in a thread that it follows.
	Message struct {
		chat.Message
		// Plan is the schedule that it asks for; Unplanned says why there can be none.
		Plan      *when.Plan `json:"plan,omitempty"`
		Unplanned string     `json:"unplanned,omitempty"`
		// Fact says that it is a word about facts, which were on when it came.
		Fact bool `json:"fact,omitempty"`
		// Skill is the skill that it asks for by `use NAME`, where there was one.
		Skill string `json:"skill,omitempty"`
		Alert *Alert `json:"alert,omitempty"` // of one that is an alert
	}

	// Edited replaces the text of a message that no model call has seen yet.
	Edited struct {
		Ref  chat.MessageRef `json:"ref"`
		Text string          `json:"text"`
	}

	// Deleted takes back a message that no model call has seen yet.
	Deleted struct {
		Ref chat.MessageRef `json:"ref"`
	}

	// Reaction is an emoji put on, or taken from, a message of the thread.
	Reaction struct{ chat.Reaction }

	// Due says that the time passed for which the run asked to be woken.
	Due struct{}

	// Halt asks that the running turn stop, from a button rather than a word.
	Halt struct {
		By chat.User `json:"by"`
	}

	// Left says that the last person who could decide is gone, as at the end of piped
	// input. Calls that wait for approval are cancelled; the turn goes on.
	Left struct {
		By chat.User `json:"by"`
	}

	// Reason is a person's reason for a denial, from a form; Text is empty if the
	// form was closed.
	Reason struct {
		Call string    `json:"call"`
		By   chat.User `json:"by"`
		Text string    `json:"text,omitempty"`
	}

	// Change asks that a call that waits for approval run with other arguments,
	// from a form rather than a word.
	Change struct {
		Call string    `json:"call"`
		By   chat.User `json:"by"`
		Args string    `json:"args"` // a JSON object
		// Digest is the beginning of the digest of the arguments in the form.
		Digest string `json:"digest,omitempty"`
	}

	// Feedback is a person's opinion of an answer, from a button; Text is their
	// complaint, from the form that asks once. A reaction with
	// [chat.EmojiGood] or [chat.EmojiBad] on the answer says the same.
	Feedback struct {
		On   chat.MessageRef `json:"on"` // the answer
		By   chat.User       `json:"by"`
		Good bool            `json:"good,omitempty"`
		Text string          `json:"text,omitempty"`
	}
)

// Entries of a turn. The Seq of the message that opened a turn names it.
type (
	// Opened starts a turn for the waiting messages. Name is part of the names of the
	// turn's posts and calls. It holds the token of the claim that opened the turn, so
	// it is unique even if a store loses its last writes.
	Opened struct {
		Turn      uint64    `json:"turn"`
		Name      string    `json:"name,omitempty"`
		Requester chat.User `json:"requester"`
		Strategy  string    `json:"strategy,omitempty"` // when it is not the plain one
		Again     uint64    `json:"again,omitempty"`    // the turn that it tries to do better
		// Try counts the tries from 2 on, Voices spoke in the earlier tries, and To is
		// the message that the first try answered.
		Try    int             `json:"try,omitempty"`
		Voices []chat.User     `json:"voices,omitempty"`
		To     chat.MessageRef `json:"to,omitzero"`
		// From is the call that a person ran again. The turn answers anew from there:
		// the earlier steps behind it leave the prompt.
		From string `json:"from,omitempty"`
	}

	// Step is one completion of the model, understood. Thought and Answer are
	// as the protocol parted them; a step without calls ends the turn, unless
	// Draft says that it was not shown because somebody had written meanwhile.
	Step struct {
		Turn     uint64        `json:"turn"`
		N        int           `json:"n"`    // the turn's model calls so far, from 1
		Seen     uint64        `json:"seen"` // last entry that was in the log when the model was called
		Thought  string        `json:"thought,omitempty"`
		Reasoned bool          `json:"reasoned,omitempty"` // Thought came apart from the text
		Echo     llm.Echo      `json:"echo,omitempty"`     // for the provider, within the turn
		Called   bool          `json:"called,omitempty"`   // it called tools although none could be called
		Written  bool          `json:"written,omitempty"`  // it wrote a call as text
		Answer   string        `json:"answer,omitempty"`
		Cut      bool          `json:"cut,omitempty"`      // the completion ran into a limit of its length
		Withheld bool          `json:"withheld,omitempty"` // a filter of the provider's ended it
		Phase    StepKind      `json:"phase,omitempty"`
		Branch   int           `json:"branch,omitempty"` // which draft it works on, from 1
		Failed   bool          `json:"failed,omitempty"` // the call failed, and the turn goes on without it
		Cause    string        `json:"cause,omitempty"`  // of that: the [llm.Fault], where one is known
		Pass     bool          `json:"pass,omitempty"`   // a check found nothing wrong
		Marks    string        `json:"marks,omitempty"`  // marks that were cut out of Answer
		Calls    []Call        `json:"calls,omitempty"`
		Usage    llm.Usage     `json:"usage,omitzero"`
		Estimate int           `json:"estimate,omitempty"` // tokens of the prompt as nod had counted them
		Took     time.Duration `json:"took,omitempty"`
		Taint    Taint         `json:"taint,omitzero"`
		Model    string        `json:"model,omitempty"` // as requested
		Named    string        `json:"named,omitempty"` // its name in the file, if it is not the first one
		// Instead says which model failed, and of what, so that this one was asked.
		Instead string `json:"instead,omitempty"`
		Served  string `json:"served,omitempty"` // as the provider names the one that answered
	}

	// Taint is the origin of a prompt's content from outside, in words for people ("the
	// page a.example"), and its time. It is kept with the step because the origin may
	// leave the log while the model's words stay.
	Taint struct {
		Source string    `json:"source"`
		Since  time.Time `json:"since,omitzero"`
	}

	// Call is one tool call of a step. ID is nod's own, unique in the thread
	// for ever: the model's is not kept, since a thread may outlive its model.
	Call struct {
		ID   string `json:"id"`
		Tool string `json:"tool"`
		Args string `json:"args"`
		// Object says that Args is one compact JSON object; otherwise it is the model's
		// text.
		Object bool `json:"object,omitempty"`
	}

	// Result is the outcome of a call, with the text for the model.
	Result struct {
		Call      string         `json:"call"`
		Tool      string         `json:"tool"`
		State     chat.CallState `json:"state"`
		Text      string         `json:"text"`
		Reason    string         `json:"reason,omitempty"` // why a person denied it
		Artifacts []chat.File    `json:"artifacts,omitempty"`
		Origin    string         `json:"origin,omitempty"` // outside: strangers wrote it; inside: they did not
		Took      time.Duration  `json:"took,omitempty"`
	}

	// Started is committed before a side effect. A Started without a Result
	// is never run again: its outcome is unknown once nothing was heard of the
	// process By for as long as the call may take.
	Started struct {
		Call   string        `json:"call"`
		Tool   string        `json:"tool"`
		Digest string        `json:"digest"`
		By     string        `json:"by,omitempty"`     // the process that runs it, as its store names it
		Within time.Duration `json:"within,omitempty"` // how long the call may take at the most
	}

	// Posted says that the post with this key is on the platform, or (without
	// Ref) that it never will be.
	Posted struct {
		Key     string          `json:"key"`
		Ref     chat.MessageRef `json:"ref,omitzero"`
		Refused string          `json:"refused,omitempty"` // why it is not on the platform, in words for people
		At      chat.ThreadID   `json:"at,omitzero"`       // where it stands, if not in the thread
		Stood   time.Time       `json:"stood,omitzero"`    // of a card or a question: since when, by the platform's clock as in chat.Message.Sent
		Unshown bool            `json:"unshown,omitempty"` // the platform refused this edit: an older text stands there
	}

	// Seen says that the bot put its mark on a message that has to wait.
	Seen struct {
		Message uint64 `json:"message"`
	}

	// Stopped says that a person ended the running turn. Entries up to Seen are done
	// with.
	Stopped struct {
		Seen uint64    `json:"seen"`
		Turn uint64    `json:"turn"`
		By   chat.User `json:"by"`
	}

	// Failed says that the turn can't go on, in words for the person. Entries up to
	// Seen are done with.
	Failed struct {
		Seen    uint64 `json:"seen"`
		Turn    uint64 `json:"turn"`
		Reason  string `json:"reason"`
		Limited bool   `json:"limited,omitempty"` // by a limit of the file: nothing went wrong
		Cause   string `json:"cause,omitempty"`   // the [llm.Fault] of a model call, where one is known
	}

	// Ended closes a turn.
	Ended struct {
		Turn uint64 `json:"turn"`
	}
)

// StepKind is the purpose of a model call. The empty one is the turn itself: to act,
// or to answer.
type StepKind string

// The kinds of steps that strategies add.
const (
	PlanStep    StepKind = "plan"    // Thought is the plan
	ReflectStep StepKind = "reflect" // Thought is the mistake and the remedy, unless Pass
	SolveStep   StepKind = "solve"   // works on a draft
)

// Entries of approvals.
type (
	// Asked opens an approval, with everything that decides it. The deadline
	// is the entry's At plus Rules.Timeout.
	Asked struct {
		Call      string    `json:"call"`
		Number    int       `json:"number,omitempty"` // counts the thread's approvals
		Tool      string    `json:"tool"`
		Digest    string    `json:"digest"`         // made with the store's key, of the tool's definition too
		Zone      string    `json:"zone,omitempty"` // of the times in a call of `schedule`
		Defined   string    `json:"defined"`        // digest of the tool's definition alone
		Requester chat.User `json:"requester"`
		Rules     Rules     `json:"rules"`
		Why       string    `json:"why,omitempty"`
		Marks     []string  `json:"marks,omitempty"`   // of arguments that no person wrote
		Again     int       `json:"again,omitempty"`   // how often it was asked for before; see [Nth]
		Changed   bool      `json:"changed,omitempty"` // its preview is another one than when it was approved, or allowed for a while
		// Stricter says that it is asked again since the rules became stricter.
		Stricter bool `json:"stricter,omitempty"`
		// Restored says that it is asked again since the store came back older.
		Restored bool `json:"restored,omitempty"`
		// Redefined says that it is asked again since its tool changed.
		Redefined bool `json:"redefined,omitempty"`
		// Shown are those whose words the model had been shown, where the rules
		// keep all of them from approving.
		Shown []chat.UserID `json:"shown,omitempty"`
	}

	// Rules say who decides an approval. Emoji are in normal form.
	Rules struct {
		Approvers        []string      `json:"approvers"` // requester, anyone, user:ID, group:ID, role:ID
		Quorum           int           `json:"quorum"`
		ExcludeRequester bool          `json:"exclude_requester,omitempty"`
		ExcludeThread    bool          `json:"exclude_thread,omitempty"` // beside ExcludeRequester: all authors in the prompt
		Timeout          time.Duration `json:"timeout"`
		Approve          []string      `json:"approve"`
		Deny             []string      `json:"deny"`
		By               []chat.Way    `json:"by,omitempty"` // which ways approve; none: all do
		Grants           Grants        `json:"grants,omitzero"`
		Remind           time.Duration `json:"remind,omitempty"` // after so long without a decision, once; 0: never
		Escalate         Escalation    `json:"escalate,omitzero"`
		Quiet            bool          `json:"quiet,omitempty"`      // nobody is mentioned
		Channels         []string      `json:"channels,omitempty"`   // ids of where the card stands too
		Direct           bool          `json:"direct,omitempty"`     // and in direct conversations with those who may decide
		RunWithin        time.Duration `json:"run_within,omitempty"` // an approved call that did not begin for so long asks anew; 0: never
	}

	// Escalation lets more people decide after so long without a decision; After 0:
	// never.
	Escalation struct {
		After     time.Duration `json:"after"`
		Approvers []string      `json:"approvers"`
	}

	// Grants say for how long and how often a call may be allowed again, at most;
	// Most 0: not at all.
	Grants struct {
		Most time.Duration `json:"most"`
		Uses int           `json:"uses"`
	}

	// Vote is a reaction, judged. Call is empty when it was on no approval.
	Vote struct {
		Reaction uint64    `json:"reaction"` // Seq of the Reaction
		Call     string    `json:"call,omitempty"`
		By       chat.User `json:"by"`
		Emoji    string    `json:"emoji,omitempty"`
		Verdict  Verdict   `json:"verdict"`
		Counts   bool      `json:"counts"`
		Button   bool      `json:"button,omitempty"` // a click, behind which a form asks why
		Reason   string    `json:"reason,omitempty"` // why it does not count

		Grant *chat.Grant `json:"grant,omitempty"` // it also allows the call for a while
		Rules *Rules      `json:"rules,omitempty"` // that held by then, where they are not those of [Asked]
	}

	// Reminded says that people are reminded of an approval that waits.
	Reminded struct {
		Call string `json:"call"`
	}

	// Notified says in which other places the card of an approval is to stand:
	// channel:ID, or user:ID for a direct conversation.
	Notified struct {
		Call   string   `json:"call"`
		Places []string `json:"places"`
		// These are the approver rules that were looked up. People are their members, for
		// the places that are direct conversations. The platform could not resolve the
		// rules in Unknown.
		Of      []string    `json:"of,omitempty"`
		People  []chat.User `json:"people,omitempty"`
		Unknown []string    `json:"unknown,omitempty"`
	}

	// Escalated says that Approvers may decide too, since nobody did for long.
	Escalated struct {
		Call      string   `json:"call"`
		Approvers []string `json:"approvers"`
	}

	// Granted allows the same call in the thread again without an approval, from the
	// entry's At on. Its number is that of the approval it came with.
	Granted struct {
		Number int           `json:"number"`
		Tool   string        `json:"tool"`
		Digest string        `json:"digest"`
		Args   string        `json:"args"`
		By     []chat.User   `json:"by"`
		For    time.Duration `json:"for"`
		Uses   int           `json:"uses"`
		Rules  Rules         `json:"rules"` // under which they could allow it
	}

	// Used says that a call runs under a grant. It counts if the grant still held
	// when this entered the log.
	Used struct {
		Grant  int         `json:"grant"`
		Call   string      `json:"call"`
		Tool   string      `json:"tool"`
		Digest string      `json:"digest"`
		By     []chat.User `json:"by"` // who had allowed it
	}

	// Revoked ends a grant.
	Revoked struct {
		Grant  int       `json:"grant"`
		Tool   string    `json:"tool"`
		Digest string    `json:"digest"`
		By     chat.User `json:"by"`
	}

	// Carried is the rest of a grant whose entries were trimmed.
	Carried struct {
		Granted Granted   `json:"granted"`
		Until   time.Time `json:"until"`
		Used    int       `json:"used"`
	}

	// Changed is the outcome of a request to run a call with other arguments. Either
	// the call has Args and their Digest now, and all earlier votes are void; or
	// Refused says why not.
	Changed struct {
		Request uint64    `json:"request"` // Seq of the message or the [Change]
		Call    string    `json:"call"`
		By      chat.User `json:"by"`
		Args    string    `json:"args,omitempty"`
		Digest  string    `json:"digest,omitempty"`
		Marks   []string  `json:"marks,omitempty"` // as in [Asked]
		Refused string    `json:"refused,omitempty"`
		Plain   string    `json:"plain,omitempty"` // the same for the audit log, where Refused names something of the arguments
	}

	// Decided ends an approval. The first one of a call is the decision.
	Decided struct {
		Call    string       `json:"call"`
		Outcome chat.Outcome `json:"outcome"`
		By      []chat.User  `json:"by,omitempty"`
		Reason  string       `json:"reason,omitempty"`
		Rules   *Rules       `json:"rules,omitempty"` // that held by then, where they are not those of [Asked]
	}
)

// Verdict is the meaning of a reaction on an approval.
type Verdict string

// The verdicts.
const (
	Approve  Verdict = "approve"
	Deny     Verdict = "deny"
	Withdraw Verdict = "withdraw" // an approval taken back
	Nothing  Verdict = "nothing"
)

// Entries of trimming and forgetting.
type (
	// Trimmed narrows the prompt from here on. It leaves out turns before Before and
	// steps before Steps, replaces the results of the calls in Stubs by stubs, and clips
	// each text to Clip bytes (0: whole). As an entry it keeps the prompt a function of
	// the log. The store no longer loads entries before Before, or before From, where an
	// older one is still needed. Each Trimmed replaces the one before it.
	//
	// It carries the state that outlives those entries.
	Trimmed struct {
		Before  uint64        `json:"before"`
		From    uint64        `json:"from,omitempty"` // has the text of an alert that waits, or is shown; 0: Before
		Stubs   []string      `json:"stubs,omitempty"`
		Steps   uint64        `json:"steps,omitempty"` // steps of a turn that came before this Seq are left out
		Clip    int           `json:"clip,omitempty"`
		Horizon time.Time     `json:"horizon,omitzero"`  // the last Forgot's
		Files   []chat.File   `json:"files,omitempty"`   // artifacts, under their names in the thread
		Off     []string      `json:"off,omitempty"`     // tools that are switched off in the thread
		People  []chat.UserID `json:"people,omitempty"`  // who wrote in the thread
		Callers []chat.UserID `json:"callers,omitempty"` // who of them called the bot
		Models  []string      `json:"models,omitempty"`  // that people chose by name, the last one first
		Muted   bool          `json:"muted,omitempty"`
		Heard   time.Time     `json:"heard,omitzero"`   // platform's time of the latest message
		Asks    int           `json:"asks,omitempty"`   // how many approvals were asked for so far
		Grants  []Carried     `json:"grants,omitempty"` // that still hold

		Schedules []Standing `json:"schedules,omitempty"` // that go on
		Scheduled int        `json:"scheduled,omitempty"` // how many there were so far
		Facts     []FactRef  `json:"facts,omitempty"`     // that prompts show

		Summary  string    `json:"summary,omitempty"`  // of the turns before Before, in the model's words
		Recap    string    `json:"recap,omitempty"`    // of the turns before a long silence
		Recalled bool      `json:"recalled,omitempty"` // a person brought the recap back
		Outside  string    `json:"outside,omitempty"`  // the origin of its content from outside
		Since    time.Time `json:"since,omitzero"`     // when that came
		Usage    llm.Usage `json:"usage,omitzero"`     // of the call that wrote Summary
	}

	// Forgot erases every entry with a Seq below Before, for good. Messages after the
	// word to forget stay. Horizon is the platform's time of that word: nothing sent up
	// to then comes back. Callers called the bot before, and are still followed. Cards
	// count on from Asks, and a muted thread stays so.
	Forgot struct {
		By      chat.User       `json:"by"`
		Before  uint64          `json:"before"`
		Horizon time.Time       `json:"horizon,omitzero"`
		Ref     chat.MessageRef `json:"ref,omitzero"` // the message that asked for it
		Callers []chat.UserID   `json:"callers,omitempty"`
		Asks    int             `json:"asks,omitempty"`
		Muted   bool            `json:"muted,omitempty"`
		Facts   int             `json:"facts,omitempty"` // of the channel, which stay
	}

	// Lost says that the store came back older than what was done. It enters through
	// the inbox where the audit log proves it. Then the thread may have gone further
	// than its log, and no approval from before counts. With a Call the card of that
	// call proves it: it shows more than the log knows.
	Lost struct {
		Reason string `json:"reason"`
		Own    bool   `json:"own,omitempty"`   // lines of this thread are lost, so it went further than its log
		Lines  uint64 `json:"lines,omitempty"` // how many, at most
		Call   string `json:"call,omitempty"`
		Shows  string `json:"shows,omitempty"` // the card's first line
	}

	// Erased says that a person is erased from the thread, with so many messages. It enters
	// through the inbox. Where the open turn is theirs, By stops it.
	Erased struct {
		Messages int       `json:"messages,omitempty"`
		By       chat.User `json:"by,omitzero"`
	}

	// Restored has people told that the store came back older. Copy is when the copy
	// was made, as far as that is known.
	Restored struct {
		Copy time.Time `json:"copy,omitzero"`
	}
)

// Unknown is an entry of an unknown kind, or of a later version. It is written back
// unchanged. Unless its writer marked it as skippable, the thread's state is unknown.
type Unknown struct {
	Name string
	Skip bool            // a reader that does not know it may go on
	Raw  json.RawMessage // the whole entry
}

// Broken is an unreadable entry. It is written back unchanged.
type Broken struct {
	Raw []byte
	Err string // the decoder's error
}

func (Message) Kind() string     { return "message" }
func (Edited) Kind() string      { return "edited" }
func (Deleted) Kind() string     { return "deleted" }
func (Reaction) Kind() string    { return "reaction" }
func (Due) Kind() string         { return "due" }
func (Halt) Kind() string        { return "halt" }
func (Left) Kind() string        { return "left" }
func (Reason) Kind() string      { return "reason" }
func (Change) Kind() string      { return "change" }
func (Changed) Kind() string     { return "changed" }
func (Feedback) Kind() string    { return "feedback" }
func (Opened) Kind() string      { return "opened" }
func (Step) Kind() string        { return "step" }
func (Result) Kind() string      { return "result" }
func (Started) Kind() string     { return "started" }
func (Posted) Kind() string      { return "posted" }
func (Seen) Kind() string        { return "seen" }
func (Stopped) Kind() string     { return "stopped" }
func (Failed) Kind() string      { return "failed" }
func (Ended) Kind() string       { return "ended" }
func (Asked) Kind() string       { return "asked" }
func (Vote) Kind() string        { return "vote" }
func (Decided) Kind() string     { return "decided" }
func (Trimmed) Kind() string     { return "trimmed" }
func (Forgot) Kind() string      { return "forgot" }
func (Granted) Kind() string     { return "granted" }
func (Used) Kind() string        { return "used" }
func (Revoked) Kind() string     { return "revoked" }
func (Reminded) Kind() string    { return "reminded" }
func (Notified) Kind() string    { return "notified" }
func (Escalated) Kind() string   { return "escalated" }
func (Lost) Kind() string        { return "lost" }
func (Erased) Kind() string      { return "erased" }
func (Restored) Kind() string    { return "restored" }
func (Incidents) Kind() string   { return "incidents" }
func (Belongs) Kind() string     { return "belongs" }
func (Remembered) Kind() string  { return "fact" }
func (Recalled) Kind() string    { return "facts" }
func (Previewed) Kind() string   { return "previewed" }
func (Scheduled) Kind() string   { return "scheduled" }
func (Slot) Kind() string        { return "slot" }
func (Unscheduled) Kind() string { return "unscheduled" }
func (Held) Kind() string        { return "held" }
func (Question) Kind() string    { return "question" }
func (Answered) Kind() string    { return "answered" }
func (Order) Kind() string       { return "order" }
func (Ran) Kind() string         { return "ran" }
func (u Unknown) Kind() string   { return u.Name }
func (Broken) Kind() string      { return "broken" }
