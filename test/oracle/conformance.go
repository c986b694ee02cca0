package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	celpb "cel.dev/expr"
	testpb "cel.dev/expr/conformance/test"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protoregistry"

	// Tests carry messages of these packages; without them their text could not be read.
	_ "cel.dev/expr/conformance/proto2"
	_ "cel.dev/expr/conformance/proto3"
)

// ConformanceTest is one test of the cel-spec: a request and what the answer must be.
type ConformanceTest struct {
	File          string               `json:"file"`
	Section       string               `json:"section"`
	Name          string               `json:"name"`
	Expression    string               `json:"expression"`
	DisableMacros bool                 `json:"disableMacros,omitempty"`
	DisableCheck  bool                 `json:"disableCheck,omitempty"`
	CheckOnly     bool                 `json:"checkOnly,omitempty"`
	Container     string               `json:"container,omitempty"`
	Locale        string               `json:"locale,omitempty"`
	Declarations  []Declaration        `json:"declarations"`
	Bindings      map[string]WireValue `json:"bindings,omitempty"`
	// Messages is set where the test needs protocol-buffer messages, which JSON does not have.
	Messages string `json:"messages,omitempty"`

	Value  WireValue `json:"value,omitempty"`
	Type   *WireType `json:"type,omitempty"`
	Errors []string  `json:"errors,omitempty"`
	// Unknown is set where the answer must be an unknown.
	Unknown bool `json:"unknown,omitempty"`
}

func convertConformance(directory string, out io.Writer) error {
	files, err := filepath.Glob(filepath.Join(directory, "*.textproto"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no *.textproto in %s", directory)
	}
	sort.Strings(files)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		parsed := &testpb.SimpleTestFile{}
		if err := (prototext.UnmarshalOptions{Resolver: protoregistry.GlobalTypes}).Unmarshal(text, parsed); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, section := range parsed.GetSection() {
			for _, test := range section.GetTest() {
				converted := convertTest(test)
				converted.File, converted.Section = parsed.GetName(), section.GetName()
				if err := encoder.Encode(converted); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// messageUse finds expressions that name a message or one of its enums.
var messageUse = regexp.MustCompile(`TestAllTypes|NestedTestAllTypes|google\.protobuf\.\w+\s*\{|google\.protobuf\.(Any|Value|Struct|ListValue|\w+Value|NullValue)\b|` +
	`GlobalEnum|proto\.(has|get)Ext|cel\.expr\.conformance|\b(Any|Value|Struct|ListValue|Duration|Timestamp|\w+Value)\s*\{`)

func convertTest(test *testpb.SimpleTest) *ConformanceTest {
	result := &ConformanceTest{
		Name: test.GetName(), Expression: test.GetExpr(), DisableMacros: test.GetDisableMacros(), DisableCheck: test.GetDisableCheck(),
		CheckOnly: test.GetCheckOnly(), Container: test.GetContainer(), Locale: test.GetLocale(),
		Declarations: []Declaration{}, Bindings: map[string]WireValue{},
	}
	if found := messageUse.FindString(test.GetExpr()); found != "" {
		result.Messages = "expression: " + found
	}
	for _, declared := range test.GetTypeEnv() {
		declaration := convertDeclaration(declared)
		if declaration.needsMessage() {
			result.Messages = "declaration of " + declaration.Name
		}
		result.Declarations = append(result.Declarations, declaration)
	}
	for name, bound := range test.GetBindings() {
		value, err := wireFromProto(bound.GetValue())
		if err != nil {
			result.Messages = "binding " + name + ": " + err.Error()
			continue
		}
		result.Bindings[name] = value
	}
	result.expect(test)
	return result
}

func (c *ConformanceTest) expect(test *testpb.SimpleTest) {
	expectValue := func(value *celpb.Value) {
		encoded, err := wireFromProto(value)
		if err != nil {
			c.Messages = "value: " + err.Error()
			return
		}
		c.Value = encoded
	}
	switch matcher := test.GetResultMatcher().(type) {
	case nil:
		c.Value = WireValue{"bool": true}
	case *testpb.SimpleTest_Value:
		expectValue(matcher.Value)
	case *testpb.SimpleTest_TypedResult:
		if matcher.TypedResult.GetResult() != nil {
			expectValue(matcher.TypedResult.GetResult())
		}
		deduced := wireTypeFromProto(matcher.TypedResult.GetDeducedType())
		if deduced.needsMessage() {
			c.Messages = "type " + deduced.Name
		}
		c.Type = &deduced
	case *testpb.SimpleTest_EvalError:
		c.Errors = messagesOf(matcher.EvalError)
	case *testpb.SimpleTest_AnyEvalErrors:
		for _, set := range matcher.AnyEvalErrors.GetErrors() {
			c.Errors = append(c.Errors, messagesOf(set)...)
		}
	case *testpb.SimpleTest_Unknown, *testpb.SimpleTest_AnyUnknowns:
		c.Unknown = true
	}
}

func messagesOf(set *celpb.ErrorSet) []string {
	messages := []string{}
	for _, each := range set.GetErrors() {
		messages = append(messages, each.GetMessage())
	}
	return messages
}

func convertDeclaration(declared *celpb.Decl) Declaration {
	result := Declaration{Name: declared.GetName()}
	if ident := declared.GetIdent(); ident != nil {
		static := wireTypeFromProto(ident.GetType())
		result.Type = &static
	}
	for _, each := range declared.GetFunction().GetOverloads() {
		overload := Overload{
			ID: each.GetOverloadId(), Member: each.GetIsInstanceFunction(), Parameters: []WireType{}, Result: wireTypeFromProto(each.GetResultType()),
		}
		for _, parameter := range each.GetParams() {
			overload.Parameters = append(overload.Parameters, wireTypeFromProto(parameter))
		}
		result.Overloads = append(result.Overloads, overload)
	}
	return result
}

func (d *Declaration) needsMessage() bool {
	if d.Type != nil && d.Type.needsMessage() {
		return true
	}
	for _, overload := range d.Overloads {
		if overload.Result.needsMessage() {
			return true
		}
		for _, parameter := range overload.Parameters {
			if parameter.needsMessage() {
				return true
			}
		}
	}
	return false
}

func (t *WireType) needsMessage() bool {
	if t.Kind == "object" && (strings.HasPrefix(t.Name, "cel.expr.conformance.") || strings.HasPrefix(t.Name, "google.protobuf.")) {
		return true
	}
	for _, parameter := range t.Parameters {
		if parameter.needsMessage() {
			return true
		}
	}
	return false
}
