"""The XLSX snapshot, a sheet a file. XlsxWriter is imported when a workbook is written."""
