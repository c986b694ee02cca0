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
	declarations := []Declaration{}
	for name, function := range prepared.env.Functions() {
		declaration := Declaration{Name: name}
		for _, each := range function.OverloadDecls() {
			overload := Overload{ID: each.ID(), Member: each.IsMemberFunction(), Parameters: []WireType{}, Result: typeInTable(each.ResultType())}
			for _, argument := range each.ArgTypes() {
				overload.Parameters = append(overload.Parameters, typeInTable(argument))
			}
			declaration.Overloads = append(declaration.Overloads, overload)
		}
		declarations = append(declarations, declaration)
	}
	macros := []macroDeclaration{}
	for _, macro := range prepared.env.Macros() {
		macros = append(macros, macroDeclaration{macro.Function(), macro.IsReceiverStyle(), macro.ArgCount()})
	}
	return printTable(out, declarations, macros)
}

type macroDeclaration struct {
	Macro     string `json:"macro"`
	Member    bool   `json:"member"`
	Arguments int    `json:"arguments"`
}

func printTable(out io.Writer, declarations []Declaration, macros []macroDeclaration) error {
	sort.Slice(declarations, func(left, right int) bool { return declarations[left].Name < declarations[right].Name })
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, each := range declarations {
		if err := encoder.Encode(each); err != nil {
			return err
		}
	}
	for _, each := range macros {
		if err := encoder.Encode(each); err != nil {
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
