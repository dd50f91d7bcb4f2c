// Package llm is the vocabulary of one model call: the request, the response and the
// faults. Providers live in packages of their own (llm/openai speaks the wire,
// llm/demo is a script without one), and none of their types appears here.
package llm

import (
	"context"
	"encoding/json"
	"strconv"
	"time"
)

// Model answers requests. It is called concurrently for different threads.
//
// watch, when not nil, receives the growing completion in the caller's goroutine; only
// the Response counts. An implementation retries by itself. Its error is final for this
// call, and is an [*Error] if the cause is known.
type Model interface {
	Complete(ctx context.Context, req Request, watch func(Delta)) (Response, error)
}

// Role is who a message of the prompt is from.
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one message of a prompt.
type Message struct {
	Role   Role
	Text   string
	Calls  []Call  // of an assistant
	CallID string  // of a tool: the Call.ID that it answers
	Images []Image // of a user
	Echo   Echo    // of an assistant: that of the Response
}

// Echo is a part of a completion that its provider wants back within the turn, such as
// reasoning with signatures. Only the implementation that made it reads it, and drops
// it for other models. Its keeper returns it whole or not at all, and in no later turn.
type Echo json.RawMessage

// MarshalJSON implements json.Marshaler.
func (e Echo) MarshalJSON() ([]byte, error) { return json.RawMessage(e).MarshalJSON() }

// UnmarshalJSON implements json.Unmarshaler.
func (e *Echo) UnmarshalJSON(data []byte) error { return (*json.RawMessage)(e).UnmarshalJSON(data) }

// Image is a picture for a model that takes pictures. A computed prompt names the
// content by Blob; the caller of the model puts in the Data.
type Image struct {
	Name      string // of the file, for words about it; may be empty
	MediaType string
	Blob      string
	Data      []byte
}

// Call is a tool call that the model asks for. Args is the text that the
// model wrote, which need not be valid JSON.
type Call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"`
}

// Tool is a tool in the request. Parameters is a JSON Schema of type object.
type Tool struct {
	Name        string
	HumanName   string   // for the protocols that name a tool twice; may be empty
	Aliases     []string // other names by which the text protocols know it, in any letter case
	Description string
	Parameters  json.RawMessage
	Code        string // the parameter that a text protocol may write as bare or fenced code; may be empty
}

// Result is the result of a tool. Failed says that Text tells the model its mistake and
// the remedy. Unknown says that nobody knows whether the call was done.
type Result struct {
	Text    string
	Failed  bool
	Unknown bool
	Files   []File
}

// File is something that a tool made, beyond the text that the model reads.
type File struct {
	Name      string
	MediaType string
	Data      []byte
	Quiet     bool // it keeps a long Text whole, and is not posted
}

// Request is one model call.
type Request struct {
	Model    string // its name in the file; "" or an unknown one: the first
	Messages []Message
	Tools    []Tool
	NoCalls  bool     // the tools are there for the history's sake: none may be called
	Stop     []string // stop words of the text protocols
	Fair     string   // whose request it is: who waits for a free model is served in turn by this
}

// Delta is a piece of a growing completion. Reset says that the earlier pieces are void:
// the call is tried again, or its text was a thought and comes anew as one. Calls says
// that a tool is being called, so the text is not the answer. Pause, where it is set,
// comes alone.
type Delta struct {
	Text      string
	Reasoning string
	Reset     bool
	Calls     bool
	Pause     *Pause
}

// Pause says that the model was refused for the moment, why, and how long the call waits
// before it tries again. The next Delta ends it; one of 0 does that without a text.
type Pause struct {
	Fault Fault
	For   time.Duration
}

// Unnamed stands, among the names of parameters, for all that a tool's schema does not
// name and takes all the same.
const Unnamed = "*"

// Response is one whole completion.
type Response struct {
	Text      string
	Reasoning string // kept apart from the answer
	Calls     []Call
	Echo      Echo
	Finish    string // stop, tool_calls, length, content_filter
	Model     string // as the provider names the one that answered; "" where it does not
	Usage     Usage
}

// The two of the words for how a completion ended that say that it is not whole.
const (
	CutOff   = "length"
	Withheld = "content_filter" // from there on, by a filter of the provider's
)

// Whole says whether the text is complete.
func (r Response) Whole() bool { return r.Finish != CutOff && r.Finish != Withheld }

// Usage counts tokens as the provider reports them; zero where it does not.
type Usage struct {
	Prompt     int `json:"prompt,omitempty"` // Cached included
	Cached     int `json:"cached,omitempty"`
	Completion int `json:"completion,omitempty"` // Reasoning included
	Reasoning  int `json:"reasoning,omitempty"`
}

// Fault is why a model call failed, as far as somebody can act on it.
type Fault string

// The faults.
const (
	Unreachable Fault = "unreachable" // no connection, or it broke, or a 5xx; retries are used up
	Overloaded  Fault = "overloaded"  // rate limits; retries are used up
	Timeout     Fault = "timeout"
	Auth        Fault = "auth"      // key missing, wrong or without rights
	TooLong     Fault = "too long"  // the prompt does not fit the model
	Refused     Fault = "refused"   // any other 4xx: the request can't be answered as it is
	Malformed   Fault = "malformed" // the answer could not be understood
	Filtered    Fault = "filtered"  // the provider's content filter
)

// Error is a model call that failed. Message is the provider's word, fit for
// an operator; it never holds a key.
type Error struct {
	Fault      Fault
	Status     int    // HTTP, 0 where there was none
	Where      string // the address that was called, where it may be wrong
	Code       string // the provider's word for it, such as model_not_found; "" where it has none
	Message    string
	RetryAfter time.Duration
}

// Lacks says in a word why the model is away, so that another one may be asked; "" where
// another one would not help.
func (e *Error) Lacks() string {
	switch {
	case e == nil:
	case e.Status == 408 || e.Status == 429 || e.Status >= 500:
		return strconv.Itoa(e.Status)
	case e.Fault == Unreachable || e.Fault == Overloaded || e.Fault == Timeout:
		return string(e.Fault)
	}
	return ""
}

// Error implements error.
func (e *Error) Error() string {
	if e.Message == "" {
		return "model " + string(e.Fault)
	}
	return "model " + string(e.Fault) + ": " + e.Message
}
