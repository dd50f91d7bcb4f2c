package front

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nod/chat"
	"nod/chat/form"
)

// Verb is the meaning of a button, or of the form behind it.
type Verb string

// The verbs of buttons.
const (
	Approve  Verb = "approve"
	Grant    Verb = "grant" // approve, and the same call for a while
	Deny     Verb = "deny"  // asks why
	Code     Verb = "code"  // approve; opens a form that asks for the person's code
	GrantBy  Verb = "allow" // the same, and the same call for a while
	Edit     Verb = "edit"  // opens a form with the arguments of a call that waits
	Rerun    Verb = "rerun" // opens a form with the arguments of a call of a turn that is over
	Good     Verb = "good"
	Bad      Verb = "bad"   // asks once what was wrong
	Tell     Verb = "tell"  // opens the form of Bad for a person who was asked in a message
	TryAgain Verb = "again" // another try of an answer
	Show     Verb = "show"  // the steps of a turn, whole, to one person
	Stop     Verb = "stop"
)

// Opens says whether a click only shows something, or opens a form: it decides nothing, and
// the platform may give no time to look the person up first.
func (v Verb) Opens() bool { return v == Edit || v == Rerun || v == Tell || v == Show || v.Codes() }

// Codes says whether a click opens the form that asks for a code.
func (v Verb) Codes() bool { return v == Code || v == GrantBy }

// Votes says whether a click decides about a call. The judge looks up who clicked.
func (v Verb) Votes() bool { return v == Approve || v == Grant || v == Deny }

// Click is a click of a person on a button. A wire fills in the fields that its button holds.
type Click struct {
	Verb    Verb
	ID      string // of the event: the same click has the same one
	Thread  chat.ThreadID
	Call    string
	Turn    string
	Digest  string          // how the digest of the card begins
	Emoji   string          // for which the button stands; "" for none
	On      chat.MessageRef // the message with the button, or the answer that it is about
	By      chat.User       // Barred where they are not heard, but of votes
	Heard   bool            // the bot listens to them here
	Copied  bool            // no form can be opened from this card: it stands in another place
	Trigger string          // what lets a form be opened later; see Options.Open
}

// Sent is a form that somebody sent, or closed. The verb is that of the form's click.
type Sent struct {
	Click
	Fields []form.Filled // of arguments
	Text   string        // of a form that asks in words
	Closed bool          // it was closed, and nothing was sent
}

// Answer is for the person who clicked or sent a form; the zero Answer is none.
type Answer struct {
	Form  *Form
	Steps *chat.Steps
	// Alone is a text that nobody else sees, without markup but `code`. Button stands
	// below it; nil: none does.
	Alone  string
	Button *Click
	// Wrong is the same beside a field, for a platform whose form stays open.
	Wrong *form.Wrong
}

// Form is a form that opens for one person. It is about the click that opened it, which
// comes back with what is sent.
type Form struct {
	Click
	Title  string
	Note   string       // before everything else
	Fields []form.Field // of arguments; none: it asks in words
	Args   string       // which Fields show
	Hint   string       // in the field of a form that asks in words
	Most   int          // its longest text, in characters
	Closes bool         // that it is closed without being sent is wanted too
	Else   string       // what is said where it does not open
}

// MostReason is how long a text may be that somebody writes in a form, in characters.
const MostReason = 500

// Words for people.
const (
	Away     = "That did not work: my memory does not answer. Try again in a moment."
	Noted    = "Noted, thank you."
	TellText = "Tell" // on the button of [Tell]

	overText    = "This approval is over."
	goneText    = "These steps are not kept any more."
	unheardText = "I am not set up to answer you."
	deafText    = "only those whom I listen to here can run something"
)

// Click does the action of a button. After an error nothing happened, or nobody knows; the
// wire tells the person [Away].
func (f *Front) Click(ctx context.Context, c Click) (Answer, error) {
	switch c.Verb {
	case Approve, Grant, Deny:
		return f.vote(ctx, c)
	case Edit:
		return f.openEdit(ctx, c)
	case Code, GrantBy:
		return f.openCode(ctx, c)
	case Rerun:
		return f.openRerun(ctx, c)
	case Good, Bad, Tell:
		return f.takeOpinion(ctx, c)
	case TryAgain:
		if c.By.Barred != "" {
			return Answer{Alone: unheardText}, nil
		}
		return Answer{}, f.putReaction(ctx, c, chat.Reaction{Emoji: chat.EmojiRetry, Button: true})
	case Show:
		return f.showSteps(ctx, c)
	case Stop:
		return f.stopTurn(ctx, c)
	}
	return Answer{}, errUnknown(c.Verb)
}

// Sent takes in a form. An error is as of Click.
func (f *Front) Sent(ctx context.Context, s Sent) (Answer, error) {
	switch {
	case len([]rune(s.Text)) > MostReason:
		why := fmt.Sprintf("This may have %d characters.", MostReason)
		return Answer{Alone: why, Wrong: &form.Wrong{Why: why}}, nil
	case s.Verb == Deny:
		return f.takeReason(ctx, s)
	case s.Verb == Bad:
		return f.takeCriticism(ctx, s)
	case s.Verb.Codes():
		return f.takeCode(ctx, s)
	case s.Verb == Edit, s.Verb == Rerun:
		return f.takeArgs(ctx, s)
	}
	return Answer{}, errUnknown(s.Verb)
}

// Unopened is the answer to a person whose form the platform did not open.
func (f *Front) Unopened(ctx context.Context, fm Form) (Answer, error) {
	switch fm.Verb {
	case Deny: // the turn would wait for a reason
		return Answer{}, f.putReason(ctx, fm.Click, "", f.o.Platform+":noreason:"+fm.ID)
	case Bad:
		return f.wonder(fm.Click), nil
	}
	return Answer{Alone: "The form did not open. " + fm.Else}, nil
}

func errUnknown(v Verb) error {
	return fmt.Errorf("read a click: unknown verb %q: %w", v, errors.ErrUnsupported)
}

// vote puts a click that decides, or is to decide, about a call.
func (f *Front) vote(ctx context.Context, c Click) (Answer, error) {
	asks := c.Verb == Deny && !c.Copied
	r := chat.Reaction{Emoji: chat.NormalEmoji(c.Emoji), Button: !c.Copied, Way: chat.ByButton}
	if c.Verb == Grant {
		r.Grant = &chat.Grant{} // as long as it may be, which is what the button says
	}
	if asks && f.o.Open != nil {
		f.noteDenial(ctx, c)
	}
	if err := f.putReaction(ctx, c, r); err != nil || !asks || f.o.Open != nil {
		return Answer{}, err
	}
	return Answer{Form: whyDenied(c)}, nil
}

// putReaction puts the reaction for which a click stands.
func (f *Front) putReaction(ctx context.Context, c Click, r chat.Reaction) error {
	r.On, r.By = c.On, c.By
	return f.Put(f.o.Inbox.Reaction(ctx, r, c.ID))
}

// showSteps gives the steps of a turn.
func (f *Front) showSteps(ctx context.Context, c Click) (Answer, error) {
	s, ok, err := f.o.Inbox.Steps(ctx, c.Thread, c.Turn)
	switch {
	case err != nil:
		return Answer{}, fmt.Errorf("read the steps: %w", err)
	case !ok:
		return Answer{Alone: goneText}, nil
	}
	return Answer{Steps: &s}, nil
}

// stopTurn asks the turn of a thread to stop. The agent judges later whether this person
// may; the person gets an answer now.
func (f *Front) stopTurn(ctx context.Context, c Click) (Answer, error) {
	st, err := f.o.Inbox.Standing(ctx, c.Thread)
	switch {
	case err != nil:
		return Answer{}, fmt.Errorf("look whether a turn runs: %w", err)
	case !st.Running:
		return Answer{Alone: "Nothing is running here."}, nil
	}
	if _, err := f.o.Inbox.Halt(ctx, c.Thread, c.By, c.ID); err != nil {
		return Answer{}, fmt.Errorf("put a stop: %w", err)
	}
	if !f.Direct(c.Thread) && !slices.Contains(st.Callers, c.By.ID) {
		return Answer{Alone: "Stopping, if you have written something in this conversation. Nobody else can stop me here."}, nil
	}
	return Answer{Alone: "Stopping."}, nil
}
