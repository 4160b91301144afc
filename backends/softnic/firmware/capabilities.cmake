# capabilities.csv as C++: a source of the build folder that defines capability_rows() of
# capabilities.h. A change of the table configures anew. No row has a semicolon, which would end a
# list's element here.
set(table ${CMAKE_CURRENT_LIST_DIR}/capabilities.csv)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
set(number "(0x[0-9a-f]+|[0-9]+)")
set(place "([a-z0-9_]+),[A-Za-z0-9_]+,([0-9]+),([0-9]+)")
set(pattern "^${place},${number},${number},${number},([a-z_]*),")

file(STRINGS ${table} lines)
list(POP_FRONT lines header)
if(NOT header STREQUAL
   "page,field,bit_offset,bit_width,connectx6,connectx7,connectx8,needs,why")
  message(FATAL_ERROR "${table} has other columns: ${header}")
endif()
set(rows)
foreach(line IN LISTS lines)
  if(NOT line MATCHES "${pattern}")
    message(FATAL_ERROR "${table}: not a row of its columns: ${line}")
  endif()
  set(need ${CMAKE_MATCH_7})
  if(NOT need)
    set(need nothing)
  endif()
  string(APPEND rows "    {Page::${CMAKE_MATCH_1}, ${CMAKE_MATCH_2}, ${CMAKE_MATCH_3}, "
         "{${CMAKE_MATCH_4}, ${CMAKE_MATCH_5}, ${CMAKE_MATCH_6}}, CapabilityNeed::${need}},\n")
endforeach()

set(capability_rows ${CMAKE_CURRENT_BINARY_DIR}/capability_rows.cc)
file(CONFIGURE OUTPUT ${capability_rows} @ONLY CONTENT
"#include \"backends/softnic/firmware/capabilities.h\"

namespace gdakit::softnic {
namespace {

using Page = format::prm::CapabilityPage;

constexpr CapabilityRow kRows[] = {
@rows@};

}  // namespace

std::span<const CapabilityRow> capability_rows() { return kRows; }

}  // namespace gdakit::softnic
")
target_sources(gdakit PRIVATE firmware/capabilities.cc ${capability_rows})
