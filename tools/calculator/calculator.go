// Package calculator is the tool that calculates exactly: an expression as people
// write it, in decimals that do not wrap or round where nobody sees it, within
// bounds of time and digits. It evaluates arithmetic and nothing else.
package calculator

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"

	"nod/llm"
	"nod/tools"
)

//go:embed calculator.md
var prose string

const parameters = `{"type":"object","properties":{"expression":{"type":"string","description":"for example (1 + 0.19) * 12.50"}},"required":["expression"],"additionalProperties":false}`

// New makes the tool that calculates. Expressions come from a model
// that may repeat what a stranger wrote, so their length, their nesting and the
// size of every number on the way are bounded before anything is computed.
func New() tools.Tool {
	return tools.Tool{
		Tool: llm.Tool{
			Name:        "calculator",
			Aliases:     []string{"calculate", "calc"},
			Description: strings.TrimSpace(prose),
			Parameters:  json.RawMessage(parameters),
		},
		ReadOnly: true,
		Risk:     tools.Auto,
		Run: func(ctx context.Context, in tools.Input) (llm.Result, error) {
			var arg struct{ Expression string }
			if err := json.Unmarshal(in.Args, &arg); err != nil {
				return llm.Result{}, fmt.Errorf("read arguments: %w", err)
			}
			value, err := calculate(ctx, arg.Expression)
			if ctx.Err() != nil {
				return tools.Failed("the calculation was stopped"), context.Cause(ctx)
			}
			if err != nil {
				return tools.Failed("the expression has no result: %v", err), nil
			}
			return llm.Result{Text: value.String()}, nil
		},
	}
}

// calculate evaluates an expression. The lexer leaves only numbers, known names
// and operators in it; expr parses that and runs it, with every operator
// replaced by one of ours and none of its own functions.
func calculate(ctx context.Context, text string) (*number, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	source, env, err := assemble(tokens)
	if err != nil {
		return nil, err
	}
	options := []expr.Option{
		expr.Env(env), expr.DisableAllBuiltins(), expr.DisableIfOperator(), expr.Optimize(false),
		expr.MaxNodes(2 * maxExpression), expr.Patch(overload{}),
	}
	for name, f := range functions {
		options = append(options, expr.Function(functionPrefix+name, func(params ...any) (any, error) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return f.call(name, params)
		}))
	}
	program, err := expr.Compile(source, options...)
	if err != nil {
		return nil, explain(err, tokens)
	}
	out, err := expr.Run(program, env)
	if err != nil {
		return nil, cause(err)
	}
	value, ok := out.(*number)
	if !ok {
		return nil, errors.New("it is not a number")
	}
	return value, nil
}

// Prefixes keep our names apart from the words of expr's language.
const (
	functionPrefix = "f_"
	literalPrefix  = "n_"
)

// assemble writes the expression for expr: every literal is a variable, since
// expr's own numbers are binary.
func assemble(tokens []token) (source string, env map[string]any, err error) {
	env = map[string]any{}
	var out strings.Builder
	for i := range tokens {
		t := &tokens[i]
		t.from = out.Len()
		switch t.kind {
		case literal:
			value, err := parseNumber(t.text)
			if err != nil {
				return "", nil, err
			}
			name := fmt.Sprint(literalPrefix, i)
			env[name] = value
			out.WriteString(name)
		case constant:
			name := literalPrefix + t.text
			env[name] = constants[t.text]
			out.WriteString(name)
		case function:
			out.WriteString(functionPrefix + t.text)
		default:
			out.WriteString(t.text)
		}
		out.WriteByte(' ')
	}
	return out.String(), env, nil
}

// overload replaces expr's operators by calls of ours.
type overload struct{}

var binary = map[string]string{"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "remainder", "^": "power"}

// Visit implements ast.Visitor.
func (overload) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BinaryNode:
		ast.Patch(node, operation(binary[n.Operator], n.Left, n.Right))
	case *ast.UnaryNode:
		if n.Operator == "+" {
			ast.Patch(node, n.Node)
		} else {
			ast.Patch(node, operation("negate", n.Node))
		}
	}
}

func operation(name string, operands ...ast.Node) ast.Node {
	return &ast.CallNode{Callee: &ast.IdentifierNode{Value: functionPrefix + name}, Arguments: operands}
}

// explain tells where expr could not go on, in terms of what the model wrote.
func explain(err error, tokens []token) error {
	var at *file.Error
	if !errors.As(err, &at) {
		return errors.New("it cannot be read")
	}
	for _, t := range tokens {
		if at.From < t.from+len(t.text) || at.From == t.from {
			return fmt.Errorf("it cannot be read from character %d on, at %q", t.at+1, t.written)
		}
	}
	return errors.New("it ends too early")
}

// cause finds our own error in one of expr's.
func cause(err error) error {
	var wrapped *file.Error
	if errors.As(err, &wrapped) && wrapped.Prev != nil {
		return wrapped.Prev
	}
	return err
}
