package fakediscord

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// contract is Discord's published OpenAPI description, as far as bodies go. A
// nil contract takes everything.
type contract struct {
	mu       sync.Mutex // compiling is not safe for several goroutines
	document map[string]any
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by pointer; nil: the document has none
}

const documentURL = "discord-openapi.json"

// contracts are those read so far, by file: reading one takes a while.
var contracts = struct {
	sync.Mutex
	read map[string]*contract
}{read: map[string]*contract{}}

// loadContract reads the description. Without a path it looks beside the checkout; a
// missing one is fine.
func loadContract(path string) (*contract, error) {
	if path == "" {
		path = besideCheckout()
	}
	if path == "" {
		return nil, nil
	}
	contracts.Lock()
	defer contracts.Unlock()
	if c := contracts.read[path]; c != nil {
		return c, nil
	}
	c, err := readContract(path)
	if err == nil {
		contracts.read[path] = c
	}
	return c, err
}

func readContract(path string) (*contract, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read contract: %w", err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read contract: %w", err)
	}
	top, ok := document.(map[string]any)
	if !ok {
		return nil, errors.New("read contract: not an object")
	}
	c := &contract{document: top, compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	c.compiler.UseLoader(closedLoader{})
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := c.compiler.AddResource(documentURL, document); err != nil {
		return nil, fmt.Errorf("read contract: %w", err)
	}
	return c, nil
}

// closedLoader loads nothing: the description stands alone.
type closedLoader struct{}

// Load refuses.
func (closedLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("load %s: %w", url, fs.ErrPermission)
}

// besideCheckout looks for the description in the folder that lies beside the
// module's own; empty when it is not there.
func besideCheckout() string {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, found := os.Stat(filepath.Join(dir, "go.mod")); found == nil {
			at := filepath.Join(dir, "..", "shared", "contracts", "discord-openapi.json")
			if _, err := os.Stat(at); err == nil {
				return at
			}
			return ""
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

var pathParameter = regexp.MustCompile(`\{[^}]*\}`)

// renamed gives the names that the description has for parts of our routes.
var renamed = map[string]string{
	"{channel}": "{channel_id}", "{message}": "{message_id}", "{guild}": "{guild_id}", "{user}": "{user_id}",
	"{emoji}": "{emoji_name}", "{app}": "{application_id}", "{interaction}": "{interaction_id}", "{token}": "{interaction_token}",
}

// operation finds a route in the description: path, method.
func (c *contract) operation(route string) (string, string) {
	method, path, _ := strings.Cut(route, " ")
	hook := strings.HasPrefix(path, "/webhooks/")
	path = pathParameter.ReplaceAllStringFunc(path, func(p string) string { return renamed[p] })
	if hook {
		path = strings.NewReplacer("{application_id}", "{webhook_id}", "{interaction_token}", "{webhook_token}").Replace(path)
	}
	return path, strings.ToLower(method)
}

// schema compiles the schema under a pointer into the description; nil when
// there is none.
func (c *contract) schema(keys ...string) (*jsonschema.Schema, error) {
	pointer := ""
	at := any(c.document)
	for _, k := range keys {
		o, _ := at.(map[string]any)
		at = o[k]
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
	}
	if at == nil {
		return nil, nil
	}
	if s, ok := c.schemas[pointer]; ok {
		return s, nil
	}
	s, err := c.compiler.Compile(documentURL + "#" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(pointer))
	if err != nil {
		return nil, fmt.Errorf("compile contract of %s: %w", pointer, err)
	}
	c.schemas[pointer] = s
	return s, nil
}

// check compares a request's body with the description.
func (c *contract) check(q *request) *apiError {
	if c == nil || len(q.body) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	path, method := c.operation(q.route)
	s, err := c.schema("paths", path, method, "requestBody", "content", "application/json", "schema")
	if err != nil {
		return badForm("contract", "COMPILE", err.Error())
	}
	if s == nil {
		return nil
	}
	if field, why := mismatch(s, q.body); why != "" {
		return badForm(field, "PUBLISHED_CONTRACT", why)
	}
	return nil
}

// mismatch tells where a body breaks a schema, and the schema's keyword; it
// tells nothing of the body's values.
func mismatch(s *jsonschema.Schema, body []byte) (field, why string) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return "body", "not JSON"
	}
	var wrong *jsonschema.ValidationError
	if err := s.Validate(v); errors.As(err, &wrong) {
		for len(wrong.Causes) > 0 {
			wrong = deepest(wrong.Causes)
		}
		where := append([]string{"body"}, wrong.InstanceLocation...)
		return strings.Join(where, "."), "breaks " + strings.Join(wrong.ErrorKind.KeywordPath(), "/")
	} else if err != nil {
		return "body", "can't be checked"
	}
	return "", ""
}

// deepest picks the cause that got furthest into the body: of alternatives,
// that is the one that was meant.
func deepest(causes []*jsonschema.ValidationError) *jsonschema.ValidationError {
	depth := func(e *jsonschema.ValidationError) int {
		d := len(e.InstanceLocation)
		for _, c := range e.Causes {
			d = max(d, len(c.InstanceLocation))
		}
		return d
	}
	best := causes[0]
	for _, c := range causes[1:] {
		if depth(c) > depth(best) {
			best = c
		}
	}
	return best
}
