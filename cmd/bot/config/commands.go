package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"nod/agent/policy"
	"nod/llm/args"
	"nod/setting"
	"nod/tools/command"
)

// commands checks the team's own tools.
func (k *checker) commands() {
	taken := []string{"details", "schedule", "remember", "skill", "team_search", policy.FindTool, policy.UseTool}
	for _, t := range k.c.table() {
		taken = append(taken, t.key)
	}
	for i, t := range k.c.Tools.Commands {
		key := item("tools.commands", i)
		taken = k.unique(key+".name", "tool", t.Name, taken)
		k.argv(key+".argv", t.Argv)
		k.argv(key+".preview", t.Preview)
		k.env(key+".env", t.Env)
		if k.doubtful(key + ".parameters") {
			continue
		}
		properties, problem := parameters(t.Parameters)
		if problem != "" {
			k.at(key+".parameters", "%s", problem)
			continue
		}
		for j := 1; j < len(t.Argv); j++ {
			k.template(item(key+".argv", j), t.Argv[j], properties)
		}
		for j := 1; j < len(t.Preview); j++ {
			k.template(item(key+".preview", j), t.Preview[j], properties)
		}
		k.template(key+".stdin", t.Stdin, properties)
		for j, name := range t.Sends {
			if !slices.Contains(properties, name) {
				k.at(item(key+".sends", j), "is %s, which is not in parameters%s", shown(name), didYouMean(name, properties))
			}
		}
	}
}

// unique demands a name that is not taken, and takes it.
func (k *checker) unique(key, kind, name string, taken []string) []string {
	if slices.Contains(taken, name) {
		k.at(key, "is taken by another %s; write another name", kind)
	}
	return append(taken, name)
}

// argv checks the program, which no argument may choose.
func (k *checker) argv(key string, argv []string) {
	switch {
	case len(argv) == 0, k.doubtful(item(key, 0)):
	case argv[0] == "":
		k.at(item(key, 0), "must name a program")
	case len(command.Names(argv[0])) > 0:
		k.at(item(key, 0), "must be a fixed program, without {name}, as the model writes what {name} stands for")
	}
	for i, a := range argv {
		if strings.ContainsRune(a, 0) {
			k.at(item(key, i), "has a character that no argument can have")
		}
	}
}

// template demands that every {name} is a parameter.
func (k *checker) template(key, text string, properties []string) {
	for _, name := range command.Names(text) {
		switch {
		case slices.Contains(properties, name):
		case len(k.names[key]) > 0 || shown(name) != name:
			k.at(key, "has a {name} that is not in parameters")
		default:
			k.at(key, "has {%s}, which is not in parameters%s", name, cmp.Or(didYouMean(name, properties), "; write it there, or remove it"))
		}
	}
}

// env checks the names that a command gets of the bot's environment. Under no name does
// it get the bot's own secrets.
func (k *checker) env(key string, names []string) {
	for i, name := range names {
		if slices.Contains(k.secret, name) {
			k.at(item(key, i), "names one of the bot's own secrets, which no command gets; make a separate one for the command")
		}
	}
}

// parameters compiles the JSON Schema of a command's arguments and gives the
// names of its properties.
func parameters(raw json.RawMessage) (properties []string, problem string) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		return nil, "must be a JSON Schema"
	}
	schema, ok := doc.(map[string]any)
	if !ok {
		return nil, "must be a JSON Schema: a section with type: object and properties"
	}
	_, err = args.Compile(raw)
	var invalid *jsonschema.SchemaValidationError
	var load *jsonschema.LoadURLError
	switch {
	case errors.As(err, &invalid):
		return nil, "is not a valid JSON Schema" + where(invalid.Err)
	case schema["type"] != "object":
		return nil, "must have type: object, as the arguments of a call are an object"
	case errors.As(err, &load):
		return nil, "has a $ref out of the schema; write what it stands for, or put it below $defs"
	case errors.Is(err, args.ErrPattern):
		return nil, "has a pattern that is no regular expression, so nothing could be held to it; mend it, or use enum"
	case err != nil:
		return nil, "is a JSON Schema that can't be used for arguments; check $schema, $id and each $ref, or write a simpler one"
	}
	named, _ := schema["properties"].(map[string]any)
	for name := range named {
		properties = append(properties, name)
	}
	slices.Sort(properties)
	return properties, ""
}

// where gives the place of the first leaf of a validation error.
func where(err error) string {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return ""
	}
	for len(v.Causes) > 0 {
		v = v.Causes[0]
	}
	place := make([]string, 0, len(v.InstanceLocation))
	for _, part := range v.InstanceLocation {
		if _, err := strconv.Atoi(part); err != nil {
			part = shown(part)
		}
		place = append(place, part)
	}
	if len(place) == 0 {
		return ""
	}
	return " at " + strings.Join(place, ".")
}

// servers checks the MCP servers.
func (k *checker) servers() {
	var taken []string
	for i, s := range k.c.Tools.MCP {
		key := item("tools.mcp", i)
		taken = k.unique(key+".name", "tool", s.Name, taken)
		http, stdio := k.written(key+".url"), k.written(key+".command")
		if http == stdio {
			k.at(key, "must have either url, or command")
		}
		if stdio && len(s.Headers) > 0 {
			k.at(key+".headers", "are only for a server with url; remove them")
		}
		k.headers(key+".headers", s.Headers)
		for _, p := range slices.Sorted(maps.Keys(s.Sends)) {
			k.when(join(key+".sends", shown(p)), patternProblem(p))
		}
		for _, p := range slices.Sorted(maps.Keys(s.Risk)) {
			k.when(join(key+".risk", shown(p)), patternProblem(p))
		}
	}
}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func (k *checker) headers(key string, headers map[string]setting.Secret) {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name]
		at := join(key, shown(name))
		if !headerName.MatchString(name) {
			k.at(at, "has a name that no header can have")
		}
		if strings.ContainsFunc(value.Reveal(), func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			k.at(at, "has a line break or another character that no header can have")
		}
	}
}
