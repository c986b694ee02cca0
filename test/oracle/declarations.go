package main

import (
	"encoding/json"
	"io"
	"sort"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// printDeclarations prints the functions of a policy's environment in Kubernetes, a declaration a line, and then its macros.
func printDeclarations(out io.Writer) error {
	prepared, err := policyEnvironment(&Request{Mutation: true})
	if err != nil {
		return err
	}
	functions := prepared.env.Functions()
	names := []string{}
	for name := range functions {
		names = append(names, name)
	}
	sort.Strings(names)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, name := range names {
		declaration := Declaration{Name: name}
		for _, each := range functions[name].OverloadDecls() {
			overload := Overload{ID: each.ID(), Member: each.IsMemberFunction(), Parameters: []WireType{}, Result: typeInTable(each.ResultType())}
			for _, argument := range each.ArgTypes() {
				overload.Parameters = append(overload.Parameters, typeInTable(argument))
			}
			declaration.Overloads = append(declaration.Overloads, overload)
		}
		if err := encoder.Encode(declaration); err != nil {
			return err
		}
	}
	for _, macro := range prepared.env.Macros() {
		described := map[string]any{"macro": macro.Function(), "member": macro.IsReceiverStyle(), "arguments": macro.ArgCount()}
		if err := encoder.Encode(described); err != nil {
			return err
		}
	}
	return nil
}

func typeInTable(of *cel.Type) WireType {
	encoded, err := types.TypeToProto(of)
	if err != nil {
		return simpleType("dyn")
	}
	return wireTypeFromProto(encoded)
}
